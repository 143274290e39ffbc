"""The yardstick for hot spots that move: frozen loads, strong simple rules, and what each of them wins over 28 days."""
