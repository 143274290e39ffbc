"""Tests of ``policies.placement``."""
