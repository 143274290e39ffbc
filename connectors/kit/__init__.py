"""What engines have in common: the contract, sessions, counters, templates, recordings, and how an engine is found."""
