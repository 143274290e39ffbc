"""How much fast storage is worth buying, and what throughput another placement brings."""
