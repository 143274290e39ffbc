"""Published figures, reproduced by deterministic simulation with the real policies."""
