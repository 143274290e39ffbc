"""What statements do to the emulated server."""
