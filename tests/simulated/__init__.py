"""The simulated engine: its model, its faults, its file."""
