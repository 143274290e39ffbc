"""What a ledger is stored in, of either kind: what the rooms need of it, and how it is opened."""
