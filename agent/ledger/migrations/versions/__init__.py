"""The revisions, oldest first. A released revision never changes; what it did is frozen here, not read from schema."""
