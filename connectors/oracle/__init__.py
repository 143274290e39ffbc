"""Oracle Database 11.2 to 23ai, by python-oracledb (or the old cx_Oracle where a site still has it).

Read ``demand`` for what the counters mean, ``statements`` and ``routes`` for what a move is, ``mover`` for how one is
carried out. Every query is a file in ``sql/`` whose head says what it reads, since which release, with which grant and
at what cost. Nothing here needs a licensed pack or option.
"""
