"""Tests of ``agent.service``."""
