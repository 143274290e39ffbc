"""Tests of ``policies.modes``."""
