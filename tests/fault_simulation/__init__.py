"""The whole agent among everything that can go wrong: a seed draws a site, its people and its faults, and repeats them.

``make fault-simulation ARGS="--seeds 1000"`` runs many. One that breaks a promise prints the command that repeats it.
"""
