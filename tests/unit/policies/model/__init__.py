"""Tests of ``policies.model``."""
