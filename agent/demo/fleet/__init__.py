"""The fleet's demo: three databases, one ledger on PostgreSQL, two agents and a standby, two people with keys."""
