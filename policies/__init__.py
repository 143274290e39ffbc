"""The decision which units deserve fast storage, as pure arithmetic on columns: no I/O, clock, driver or SQL.

Read in the order of the data: ``demand``, ``heat``, ``device``, ``benefit``, ``plan`` (the types), ``guards``,
``placement`` (the solver), ``balancer`` (the modes that put it all together), ``explain``.
"""
