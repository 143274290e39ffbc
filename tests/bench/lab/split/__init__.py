"""A table is split along a column while it is in use: what that brings, how long it holds others up, what is lost."""

from __future__ import annotations

from tests.bench.lab.split.figures import measurements

__all__ = ["measurements"]
