"""hotplace computes on one thread, beside a database that needs the others."""

from __future__ import annotations

import os
import subprocess
import sys

COMPUTES = """
import os
import agent.service.watch
import numpy
square = numpy.ones((600, 600))
square @ square
print(os.environ["OPENBLAS_NUM_THREADS"], len(os.listdir("/proc/self/task")))
"""


def computed(environment: dict[str, str]) -> tuple[str, int]:
    """What the environment says, and how many threads a process has that multiplied two matrices."""
    done = subprocess.run(
        [sys.executable, "-c", COMPUTES], env=environment, check=True, capture_output=True, text=True, timeout=60
    )
    told, threads = done.stdout.split()
    return told, int(threads)


def test_a_product_of_matrices_starts_no_threads() -> None:
    """Whoever imports the agent computes on the thread that asks, on a machine of however many cores."""
    environment = {name: text for name, text in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    assert computed(environment) == ("1", 1)


def test_whoever_asks_for_threads_gets_them() -> None:
    """The variable is left as it is where it is set."""
    assert computed({**os.environ, "OPENBLAS_NUM_THREADS": "2"})[0] == "2"
