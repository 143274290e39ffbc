"""Alembic's environment and the revisions of the ledger's tables, run when a ledger is opened."""
