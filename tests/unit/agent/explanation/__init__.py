"""Tests of ``agent.planning``."""
