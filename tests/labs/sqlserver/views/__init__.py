"""Documented views, filled from the emulated server's model."""
