"""Commands for the first day."""
