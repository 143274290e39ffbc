"""Unit tests of the Oracle connector: its pure parts, and its queries against documented columns."""
