"""``hotplace assess``: reports and exports without a connection."""
