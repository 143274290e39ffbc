"""Tests of ``agent.budget``."""
