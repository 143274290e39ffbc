"""What the emulated SQL Server and Oracle share: documented columns, and queries run by DuckDB after sqlglot."""
