"""``hotplace lab prove`` on a real PostgreSQL, and what its page is made of."""
