"""What may move and by which statements, or why not. Pure."""
