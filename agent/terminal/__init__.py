"""What commands print and how they end: tables, lines, JSON, charts, keys, exit codes."""
