"""A deterministic engine in memory: for what-if questions, tests and the simulation of the whole agent.

Its figures come from a model: devices as queues, a closed population of sessions, a buffer pool. Nothing it says is a
measurement of any storage.
"""
