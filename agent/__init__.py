"""Everything that lives in time: configuration, ledger, sampler, planner, executor, verifier, daemon, metrics, CLI.

Read in this order: ``clock``, ``config``, ``proposals`` and ``states``, ``ledger``, ``sampler``, ``planner``,
``executor``, ``verifier``, ``daemon``, ``metrics``, ``cli``, ``demo``.
"""
