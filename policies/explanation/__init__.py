"""Why, and why not: the numbers and sentences behind a verdict."""
