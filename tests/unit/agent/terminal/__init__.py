"""Tests of ``agent.terminal``."""
