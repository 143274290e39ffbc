"""Tests of ``agent.sampling``."""
