"""Recordings: what a connector reads, kept in a file without user data, and answered from it later."""
