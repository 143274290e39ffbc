"""DRDA between IBM's driver and Derby."""
