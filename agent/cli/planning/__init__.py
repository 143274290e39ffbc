"""Commands that ask what would be worth moving: plan, balance, trace, simulate, sizing, pins."""
