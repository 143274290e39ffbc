"""A connector's claims, tried on a user's server."""
