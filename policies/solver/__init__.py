"""The solver: a multiple-choice knapsack with several resources, in numbers alone.

``placement`` asks ``scarcity`` what could run out, ``prices`` what that is worth, ``core`` what prices do not settle
and ``solving`` for the best choice that searches find. Nothing here knows of databases, tiers or plans:
``policies.asking`` turns a plan in the making into ``offers``, and ``policies.hsm`` an answer into moves.
"""
