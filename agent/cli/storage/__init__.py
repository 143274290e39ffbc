"""Commands about spaces and their containers."""
