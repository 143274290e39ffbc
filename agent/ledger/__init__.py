"""The durable record: proposals, approvals, moves, steps, outcomes, pins, the audit chain, and heat history.

One SQLite file (``file``), or for several agents a PostgreSQL (``server``); ``store.database`` says what both give.
Start reading at ``ledger``; ``schema`` has the tables, ``file.database`` and ``server.database`` the transactions and
why they sync as they do, ``audit`` the chain, ``history`` and ``codec`` the blobs.
"""
