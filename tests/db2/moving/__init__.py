"""Moves on the emulated Db2."""
