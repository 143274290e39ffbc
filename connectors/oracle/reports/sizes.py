"""Sizes of segments from rows of ``sql/units.sql``: reports do not have them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, takewhile

from connectors.assessment import Row
from connectors.oracle.reading.catalog import Entry
from connectors.oracle.reports.report import Segment


@dataclass(frozen=True)
class Sizes:
    """Bytes by segment and by tablespace."""

    segments: Mapping[tuple[str, str, str], int] = field(default_factory=dict)  # owner, name, part or ""
    tablespaces: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _by_name(self) -> list[tuple[str, str, str, int]]:
        return sorted((name, owner, part, size) for (owner, name, part), size in self.segments.items())

    def segment(self, segment: Segment) -> int | None:
        """Bytes of a segment that a report names; the report may have cut the name. None: not known, or ambiguous."""
        exact = self.segments.get((segment.owner, segment.name, segment.part))
        if exact is not None:
            return exact
        first = bisect_left(self._by_name, (segment.name,))
        same_begin = takewhile(lambda row: row[0].startswith(segment.name), islice(self._by_name, first, None))
        near = (
            size
            for _, owner, part, size in same_begin
            if owner.startswith(segment.owner) and part.endswith(segment.part)
        )
        found = list(islice(near, 2))
        return found[0] if len(found) == 1 else None

    def tablespace(self, name: str) -> int | None:
        """Bytes of all segments in it; None where none is known."""
        return self.tablespaces.get(name)


def sizes_of(rows: Iterable[Row]) -> Sizes:
    """Fold rows of ``sql/units.sql``."""
    segments: dict[tuple[str, str, str], int] = {}
    spaces: dict[str, int] = {}
    for row in rows:
        entry = Entry(*row)
        if entry.bytes is None or entry.space is None:
            continue
        key = str(entry.owner), str(entry.name), str(entry.part or "")
        segments[key] = segments.get(key, 0) + int(entry.bytes)
        spaces[entry.space] = spaces.get(entry.space, 0) + int(entry.bytes)
    return Sizes(segments, spaces)
