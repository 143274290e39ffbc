"""What commands print of all databases of one ledger, with ``--all``."""
