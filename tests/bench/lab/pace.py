"""How large the data is and how long anything is watched."""

from __future__ import annotations

from dataclasses import dataclass, replace

SHARED_BUFFERS_BYTES = 16 * 2**20  # at scale 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """One setting for a whole experiment. Ratios between tables, buffer pool and SSD are the same at every scale."""

    scale: float  # of all row counts and of the buffer pool
    warm_seconds: float  # of the first run of a placement, discarded
    run_seconds: float  # of each run, measured
    observe_seconds: float  # how long hotplace watches before it is asked for a plan
    runs: int  # of a placement that a goal is about, with seeds 1, 2, 3 ...

    @property
    def warm_again_seconds(self) -> float:
        """Of each further run of a placement, discarded: the buffer pool is warm already."""
        return self.warm_seconds / 3

    def shorter(self, share: float) -> Pace:
        """Runs of so much of the time, where placements are many and no goal rests on one of them."""
        return replace(self, warm_seconds=self.warm_seconds * share, run_seconds=self.run_seconds * share)

    def smaller(self, share: float) -> Pace:
        """The same times with so much of the data."""
        return replace(self, scale=self.scale * share)

    @property
    def shared_buffers(self) -> str:
        """The buffer pool, as postgresql.conf takes it."""
        return f"{round(SHARED_BUFFERS_BYTES * self.scale / 1024)}kB"


FULL = Pace(scale=1.0, warm_seconds=12.0, run_seconds=20.0, observe_seconds=30.0, runs=3)
QUICK = Pace(scale=0.25, warm_seconds=4.0, run_seconds=8.0, observe_seconds=12.0, runs=1)
ROUND = Pace(scale=0.25, warm_seconds=3.0, run_seconds=5.0, observe_seconds=8.0, runs=1)  # `make bench-quick`
SMALL = Pace(scale=0.125, warm_seconds=2.0, run_seconds=3.0, observe_seconds=20.0, runs=1)  # in `make test`
