"""Tests of ``agent``."""
