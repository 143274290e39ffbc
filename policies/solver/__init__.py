"""The solver: a multiple-choice, multidimensional 0/1 knapsack, in numbers alone.

In the order in which a problem is solved: ``scarcity`` drops resources that cannot run out and options for which there
is never room; ``prices`` minimises the Lagrangian ``dual`` (by ``ellipsoid``; of many items by ``sifting``), which also
makes a first feasible choice; ``solving`` drives searches over the core, the items that prices leave open; ``search``
is a beam search with bounds over those, by ``relaxation``; ``placement`` is the entrance. ``integer_rounding`` tightens
the bound where few items fill a resource. Nothing here knows of databases, tiers or plans:
``policies.placement.placement_problem`` builds ``offers`` from a draft of a plan, and ``policies.placement.hsm`` turns
the answer into moves.

The problem is that of Martello and Toth, "Knapsack Problems" (1990), chapter 6, with several capacities.
"""
