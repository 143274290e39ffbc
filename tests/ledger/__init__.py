"""The ledger on real files: what it keeps, what it refuses, and that nothing is lost."""
