"""Hand-worked examples of the policies."""
