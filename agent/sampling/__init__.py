"""Watching one database: samples, heat, history, traces. Never writes to the database."""
