"""The installed program against a real PostgreSQL: what a person or a script would see."""
