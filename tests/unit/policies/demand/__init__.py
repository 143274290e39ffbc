"""Tests of ``policies.demand``."""
