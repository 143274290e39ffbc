"""The solver: a multiple-choice, multidimensional 0/1 knapsack, in numbers alone.

In the order in which a problem is solved: ``scarcity`` drops resources that cannot run out and options that can never
be afforded; ``prices`` solves the Lagrangian dual (``cutting`` and ``ellipsoid`` for few items, ``sifting`` for many);
``rounding`` makes a first feasible choice of it; ``core`` picks the items that prices leave open; ``search`` is a beam
search with bounds over those, with ``relaxation`` and ``repricing`` for its bounds; ``solving`` drives the searches,
and ``placement`` is the entrance. ``integer_rounding`` tightens the bound where few items fill a resource. Nothing here
knows of databases, tiers or plans: ``policies.placement.placement_problem`` builds ``offers`` from a draft of a plan,
and ``policies.placement.hsm`` turns the answer into moves.

The problem is that of Martello and Toth, "Knapsack Problems" (1990), chapter 6, with several capacities.
"""
