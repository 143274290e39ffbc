"""Every regular expression of the product takes time in proportion to its text."""
