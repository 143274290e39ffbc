"""Commands that show what is known: units, explain, top, history."""
