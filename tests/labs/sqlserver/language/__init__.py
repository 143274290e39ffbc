"""T-SQL as the emulated server reads it."""
