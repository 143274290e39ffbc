"""Demand and heat: counter deltas, decayed means, seasons, drift, renamed units."""
