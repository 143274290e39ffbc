"""The simulated server: its world, workload, devices and language."""
