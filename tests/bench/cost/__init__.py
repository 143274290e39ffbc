"""What hotplace itself costs: memory, processor time, the server's time."""
