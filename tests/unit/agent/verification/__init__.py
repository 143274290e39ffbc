"""Tests of ``agent.verification``."""
