"""What engines know of single statements: cumulative counters by id, and texts without what users entered."""
