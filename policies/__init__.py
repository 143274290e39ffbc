"""The decision which units deserve fast storage, as pure arithmetic on columns: no I/O, clock, driver or SQL.

Rooms in the order of the data: ``model`` (types of a decision), ``demand`` (counter deltas, heat, seasons, growth),
``storage`` (capacity, load limits, queueing), ``benefit`` (bundles, waits saved, costs, guards), ``solver`` (a knapsack
in numbers alone), ``explanation`` (verdicts, figures, advice), ``placement`` (from the solver's answer to a plan whose
moves fit and pay), ``modes`` (everything the balancer can be asked for) and ``sizing`` (how much fast storage is worth
having). Start with ``placement.balancer``.
"""
