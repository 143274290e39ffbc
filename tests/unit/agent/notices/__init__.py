"""Tests of ``agent.notices``."""
