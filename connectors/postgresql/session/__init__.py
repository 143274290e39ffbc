"""Sessions: how they are opened, their queries and errors."""
