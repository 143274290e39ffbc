"""Carrying out a route and finding the truth about it afterwards."""
