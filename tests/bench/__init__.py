"""Benchmarks: ``make bench`` runs them all and writes RESULTS.md (for people) and results.json (for machines).

Each module has ``measurements() -> list[Measurement]`` and runs alone with ``python -m tests.bench.NAME``.
"""

import agent  # noqa: F401  # before numpy: computes on one thread, here as in the product
