"""Commands that ask what would be worth moving."""
