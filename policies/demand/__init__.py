"""Demand and heat: counter deltas, decayed means, seasons, horizons, renamed units."""
