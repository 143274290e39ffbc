"""One small mistake at a time in the agent's source: a mistake that no test notices shows what is not tested.

``make mutants`` draws mistakes by a seed and runs for each of them the tests that pass by its line.
"""
