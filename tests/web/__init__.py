"""What a browser and programs see of the daemon."""
