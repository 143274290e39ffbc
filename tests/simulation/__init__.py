"""The whole agent over the simulated engine, on a virtual clock: every run repeats exactly."""
