"""What hotplace is asked about a table: looks until the plan has a word on it, and the proposal of a split."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from agent.demo.load import SSD_SPACE
from agent.sampling import block_looks
from policies.model.plan import AdviceCode
from tests.bench.lab.asking import hotplace
from tests.bench.lab.hotplace import Hotplace, NotPlaced
from tests.bench.lab.rig import Rig
from tests.bench.lab.split.cases import KEY, Case
from tests.bench.lab.split.rows import newest

LOOK_SECONDS, MOST_LOOK_SECONDS = 25.0, 60.0
LOOK_REST_SECONDS = 1.0  # between two questions whether looks have found enough
RATE_SECONDS = 3.0  # over which it is counted how fast new rows come
REST_SECONDS, SAVE_SECONDS, VALUES_SECONDS = 1.0, 0.0, 8.0  # in place of the looker's own
LEAST_AHEAD_SECONDS, SCAN_BYTES_PER_SECOND = 90.0, 5e6  # by which the border lies ahead of the newest row


@contextmanager
def looks_come_often() -> Iterator[None]:
    """Inside, agents of this process look every second or two in place of every thirty."""
    with ExitStack() as stack:
        for module, name, seconds in (
            (block_looks, "REST_SECONDS", REST_SECONDS),
            (block_looks, "SAVE_EVERY_SECONDS", SAVE_SECONDS),
            (block_looks, "FIRST_SECONDS", VALUES_SECONDS),
            (block_looks, "EVERY_SECONDS", VALUES_SECONDS),
        ):
            stack.enter_context(patch.object(module, name, seconds))
        yield


def look(agent: Hotplace) -> dict[str, Any]:
    """Look into the table until the plan has a word on it; the document of ``hotplace plan``."""
    began = time.monotonic()
    while True:
        agent.watch.plan()  # says which units are worth looks
        agent.watch.observing.look_at_blocks()
        took = time.monotonic() - began
        if took > LOOK_SECONDS:
            agent.watch.sampler.save()
            document = hotplace(agent.config_path, "plan")
            if took > MOST_LOOK_SECONDS or _is_known(document):
                return document
        time.sleep(LOOK_REST_SECONDS)


def advice_in(document: dict[str, Any]) -> str:
    """What the plan says of splitting the table."""
    return next((str(each["sentence"]) for each in _said_of_splits(document)), "nothing is said of a split")


def is_offered(document: dict[str, Any]) -> bool:
    """Whether a split is worth it by a border that is known."""
    splits = [each for each in document["splits"] if each["unit"] == KEY]
    return any(each["border"] is not None and each["wait_saved_per_hour_seconds"] > 0 for each in splits)


def _is_known(document: dict[str, Any]) -> bool:
    """Whether the advice is about the table, and names the column where a split is worth it."""
    splits = [each for each in document["splits"] if each["unit"] == KEY]
    return bool(_said_of_splits(document)) and all(each["border"] is not None for each in splits)


def _said_of_splits(document: dict[str, Any]) -> list[dict[str, Any]]:
    codes = (AdviceCode.SPLIT, AdviceCode.NO_SPLIT)
    return [each for each in document["advice"] if each["subject"] == KEY and each["code"] in codes]


def ahead_of(rig: Rig, case: Case) -> int:
    """A value that new rows reach only after the split, at the rate at which they come now."""
    with rig.session() as session:
        began, first = time.monotonic(), newest(session)
        time.sleep(RATE_SECONDS)
        last = newest(session)
        a_second = (last - first) / (time.monotonic() - began)
    size = next(relation.size_bytes for relation in rig.relations() if relation.key == KEY)
    return last + 100 + round(a_second * (LEAST_AHEAD_SECONDS + size / SCAN_BYTES_PER_SECOND))


def propose(agent: Hotplace, case: Case, border: int | None) -> dict[str, Any]:
    """By the command, which knows the border itself where none is given.

    Raises:
        Unanswered: it refuses to split the table.
        NotPlaced: it stored no proposal.
    """
    where = () if border is None else ("--column", case.column, "--border", str(border))
    document = hotplace(agent.config_path, "split", KEY, *where, "--to", SSD_SPACE, "--propose")
    stored: dict[str, Any] | None = document["proposal"]
    if stored is None:
        raise NotPlaced(f"{case.name}: other moves were to be done first, so the split was not stored")
    return stored
