"""Looking for a while before a command answers, next to a daemon or without one; what to do where nothing was seen."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from agent.cli.session import Session
from agent.service.watch import Watch
from connectors.formatting import format_seconds

LONGEST_NAP_SECONDS = 0.25  # between looks at the progress bar
PARTS = 6  # of a look: how much demand varies shows between samples ...
SHORTEST_PART_SECONDS = 5.0  # ... unless they follow too closely
BESIDE_A_DAEMON = (
    "a daemon watches this database: what it has learnt is used and, for this answer alone, what is seen meanwhile"
)


def look(session: Session, watch: Watch, observe: float | None) -> None:
    """Sample, and go on sampling if asked to watch. Only the reading connector of the watch is ever used.

    Next to a daemon nothing of it is kept, and nothing counts twice: what the daemon knows was read before the first of
    these samples.
    """
    if observe and session.daemon().alive:
        session.out.note(BESIDE_A_DAEMON)
    watch.sample()
    if not observe:
        return
    parts = max(1, min(PARTS, int(observe / SHORTEST_PART_SECONDS)))
    columns = (TextColumn("watching"), BarColumn(), TimeRemainingColumn())
    console = session.out.progress_console
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("watching", total=observe)
        for _ in range(parts):
            left = observe / parts
            while left > 0:
                nap = min(left, LONGEST_NAP_SECONDS)
                session.clock.sleep(nap)
                left -= nap
                progress.advance(task, nap)
            watch.sample()


def sentence_without_demand(session: Session) -> str:
    """What to do where no demand is known yet."""
    if not session.daemon().alive:
        return "next: nothing was watched yet; look for a minute with hotplace plan --observe 60, or start hotplace run"
    every = format_seconds(session.database.sample_seconds)
    return f"next: the daemon has only begun; it knows something with its second sample, {every} after the first"
