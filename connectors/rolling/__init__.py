"""Next partitions and aged ones, as far as it is the same on every engine. Pure."""
