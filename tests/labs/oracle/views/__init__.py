"""Documented views, filled from the emulated database's model."""
