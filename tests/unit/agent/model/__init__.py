"""Tests of ``agent.model``."""
