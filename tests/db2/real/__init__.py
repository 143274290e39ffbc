"""What the connector makes of rules of real servers that the emulated server plays; numbers as in its README."""
