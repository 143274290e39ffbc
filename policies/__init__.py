"""The decision which units deserve fast storage, as pure arithmetic on columns: no I/O, clock, driver or SQL.

Rooms in the order of the data: ``model`` (types of a decision), ``evidence`` (counter deltas, heat, seasons, capacity,
queueing, prices of waits, costs, guards) and ``placement`` (the solver, a knapsack in numbers alone; from its answer to
a plan whose moves fit and pay; everything the balancer can be asked for; verdicts and advice; how much fast storage is
worth having). Start with ``placement.balancer``.
"""
