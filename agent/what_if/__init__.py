"""Questions about other storage and other settings: sizing and simulation."""
