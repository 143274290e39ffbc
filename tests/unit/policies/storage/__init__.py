"""Tests of ``policies.evidence``."""
