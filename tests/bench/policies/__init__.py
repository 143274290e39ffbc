"""Placement policies played against each other on the same seeded workloads, hour by hour."""
