"""Commands about running moves."""
