"""PostgreSQL 14 to 18, by psycopg 3.

Read ``demand`` for what the counters mean, ``routes`` for what a move is, ``mover`` for how one is carried out. Every
query is a file in ``sql/`` whose head says what it reads, since which version, with which privilege and at what cost.
"""
