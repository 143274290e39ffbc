"""Tests of ``policies.explanation``."""
