"""Tests of ``policies.benefit``."""
