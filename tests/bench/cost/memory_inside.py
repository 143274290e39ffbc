"""What the daemon does, one thing after the other, with its memory told after each. Run by ``memory_stages``.

Loads nothing at its top but what Python brings, so that what it tells is the agent's.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

_TOUCH = "tests.bench.cost.memory_stages"


def told(stage: str) -> None:
    """Print what this process holds, and begin a new peak."""
    held = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, own, peak = (int(held[name].split()[0]) / 1024 for name in ("VmRSS", "RssAnon", "VmHWM"))
    print(f"{stage:32}{now:10.1f}{own:10.1f}{peak:10.1f}", flush=True)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # proc(5): "reset the peak resident set size"


def stages(config_path: Path, tables: int, conninfo: str) -> None:
    """Every stage, through the daemon's own parts; only when each job runs is chosen here."""
    print(f"{'MiB':32}{'resident':>10}{'own':>10}{'peak':>10}")
    told("Python")
    from agent.config.files import load
    from agent.ledger.ledger import Ledger
    from agent.model.clock import SystemClock
    from agent.service.daemon import Daemon, claim
    from agent.service.process import return_large_blocks

    return_large_blocks()
    told("imports of the command")
    clock = SystemClock()
    config = load(config_path)
    with Ledger.open(config.ledger.path, clock) as ledger:
        told("configuration and ledger")
        daemon = Daemon(config, config_path, ledger, clock)
        daemon._watches = daemon._make_watches(config)
        server = daemon._metrics_server()
        server.start()
        daemon._schedule()
        (watch,) = daemon._watches.values()
        claim(watch)
        told("metrics, schedule, session")
        turn = 0

        def touch() -> None:
            """From a process of its own: its driver is no part of what is measured."""
            nonlocal turn
            subprocess.run([sys.executable, "-m", _TOUCH, "--touch", str(tables), conninfo, str(turn)], check=True)
            turn += 1

        def sampled(stage: str, before: Callable[[], None] = touch) -> None:
            before()
            daemon._jobs.run_guarded(daemon._jobs.sample, watch)
            told(stage)

        sampled("first sample, with the catalog", lambda: None)
        for stage in ("second sample", "third sample", "fourth sample"):
            sampled(stage)
        watch.sampler._save_at = -float("inf")
        sampled("sample and save")
        watch.sampler._catalog_at = -float("inf")
        sampled("sample, catalog read again")
        for stage in ("plan", "plan again"):
            daemon._jobs.run_guarded(daemon._jobs.plan, watch)
            told(stage)
        sampled("sample after the plan")
        daemon._close_watches()
        server.stop()
    told("end")


if __name__ == "__main__":
    stages(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
    os._exit(0)
