"""Tests of ``agent.moving``."""
