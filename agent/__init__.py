"""Everything that lives in time: configuration, ledger, sampler, planner, executor, verifier, daemon, metrics, CLI.

Read in this order: ``clock``, ``config``, ``proposals`` and ``states``, ``ledger``, ``sampler``, ``situation``,
``planner``, ``executor``, ``verifier``, ``jobs``, ``daemon``, ``metrics``, ``cli``, ``demo``.
"""

import os

# The machine is the database's. By default numpy's linear algebra starts a thread for every core, and all of them spin
# for products that one has done in a millisecond. It reads this once, when it is first imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
