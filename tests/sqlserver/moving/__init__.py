"""Moves on the emulated SQL Server."""
