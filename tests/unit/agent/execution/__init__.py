"""Tests of ``agent.execution``."""
