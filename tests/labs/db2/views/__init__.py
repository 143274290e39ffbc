"""The emulated catalog: its rows, from the world."""
