"""The solver: a multiple-choice knapsack with several resources, in numbers alone.

``placement`` asks ``scarcity`` what could run out, ``prices`` what that is worth, ``core`` what prices do not settle
and ``solving`` for the best choice that searches find. Nothing here knows of databases, tiers or plans:
``policies.placement.placement_problem`` turns a draft of a plan into ``offers``, and ``policies.placement.hsm`` turns
an answer into moves.
"""
