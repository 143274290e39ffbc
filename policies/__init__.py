"""The decision which units deserve fast storage, as pure arithmetic on columns: no I/O, clock, driver or SQL.

Read in the order of the data: ``demand``, ``heat`` with ``variance``, ``season`` and ``heirs``, ``benefit``,
``device``, ``interval`` (how sure all that is), ``limits`` and ``costs``, ``plan`` (the types), ``bundles`` (what moves
as one), ``guards``, ``asking`` and ``solver`` (a question and its answer, in numbers alone), ``board`` and ``hsm`` (the
answer as groups of moves that fit and pay), ``order``, ``balancer`` (the plan), ``queueing`` and ``relief``,
``figures`` and ``explain``, ``advice``; then ``modes`` (what else may be asked of the balancer) with ``clear``,
``level``, ``drain`` and ``preference``; beside them ``workload``, the yardstick of outcomes, ``sizing`` (how much fast
storage is worth having) and ``purchase`` (what it costs).
"""
