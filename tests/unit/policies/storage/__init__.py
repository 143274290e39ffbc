"""Tests of ``policies.storage``."""
