"""Real servers to try a connector on, one module an engine."""
