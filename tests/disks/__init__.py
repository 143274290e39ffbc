"""A modelled disk that can also be full or broken, and whose blocks can be placed one by one: for tests only."""
