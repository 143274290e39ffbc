"""Statspack and AWR reports, as text and as HTML: what a DBA has already, without a connection."""
