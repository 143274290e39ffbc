"""Tests of ``policies.sizing``."""
