"""Commands about all databases of one ledger."""
