"""What the engine is asked: catalog, counters, demand, roles."""
