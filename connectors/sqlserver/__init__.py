"""SQL Server 2012 to 2025 and Azure SQL Managed Instance, by pyodbc.

Read ``demand`` for what the counters mean, ``routes`` and ``ddl`` for what a move is, ``mover`` for how one is carried
out. Every query is a file in ``sql/`` whose head says what it reads, since which version, with which privilege and at
what cost.
"""
