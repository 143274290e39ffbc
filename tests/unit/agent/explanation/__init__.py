"""Tests of ``agent.explanation``."""
