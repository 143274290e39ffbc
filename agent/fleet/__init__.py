"""All databases of one ledger: which need a person, what is worth deciding first, what came of it."""
