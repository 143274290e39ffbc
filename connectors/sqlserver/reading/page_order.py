"""Where the pages of a unit lie in its files, as far as looks at the buffer pool have shown it. Pure.

No documented view lists the pages of a unit. But each extent of eight pages belongs to one unit (since 2016 always,
before that once the unit has more than eight pages), so a page in the pool tells its extent. Extents of an ever-growing
unit are allocated in about the order in which its rows came, and where its filegroup has several files, from all of
them in turns. So its pages are numbered by where they lie in their file, as a share of what the unit has there: a range
of numbers is the same stretch of each file.

How many extents the unit has is known, and some were never seen. They are taken to lie between those that were, where
there is room in the file, and rather where few pages of each extent were seen: with ``l`` pages of an extent seen on
average, by Poisson's law one extent in ``exp(l)`` of that neighbourhood was not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from connectors.model import F64, I64

EXTENT = 8  # pages
NEIGHBOURS = 9  # extents over which the pages seen of each are averaged
_ROUNDS = 40  # of a fixed point and of a bisection, more than enough for both
_MANY = 1e9  # extents: no bound


@dataclass(slots=True)
class PageOrder:
    """Extents of one unit that were seen; grows with each look."""

    extents: dict[int, I64] = field(default_factory=dict)  # by file_id: numbers of extents in the file, rising
    pages: dict[int, I64] = field(default_factory=dict)  # by file_id: of each of them the pages seen, as eight bits

    @property
    def seen(self) -> int:
        """How many extents."""
        return sum(len(each) for each in self.extents.values())

    def learn(self, file: I64, page: I64) -> None:
        """These pages are the unit's."""
        for number in np.unique(file).tolist():
            mine = page[file == number]
            known = self.extents.get(number, mine[:0])
            all_of_them = np.union1d(known, mine // EXTENT)
            bits = np.zeros(len(all_of_them), dtype=np.int64)
            bits[np.searchsorted(all_of_them, known)] = self.pages.get(number, known)
            np.bitwise_or.at(bits, np.searchsorted(all_of_them, mine // EXTENT), 1 << mine % EXTENT)
            self.extents[number], self.pages[number] = all_of_them, bits

    def numbers(self, file: I64, page: I64, extents: int) -> I64:
        """Number of each page within the unit, from 0. Shape of ``page``.

        Args:
            file: of each page, of files that were learnt.
            page: its number in the file, of extents that were learnt.
            extents: that the unit has; fewer than were seen: those that were seen.
        """
        found = np.empty(len(page), dtype=np.int64)
        places = self._places(extents) if len(page) else {}
        for number, place in places.items():
            mine = file == number
            at = np.searchsorted(self.extents[number], page[mine] // EXTENT)
            found[mine] = place[at] * EXTENT + page[mine] % EXTENT
        return found

    def _places(self, extents: int) -> dict[int, I64]:
        """By file, which of the unit's extents each is that was seen: all differ, and keep their order."""
        total = max(extents, self.seen)
        share = np.concatenate(self._shares_before(total - self.seen))
        order, rank = np.argsort(share, kind="stable"), np.arange(self.seen)
        # As many as fit before each, at least one apart, and none beyond the end.
        before = np.maximum.accumulate(np.floor(share[order] * total).astype(np.int64) - rank)
        place = np.empty(self.seen, dtype=np.int64)
        place[order] = np.minimum(before, total - self.seen) + rank
        ends = np.cumsum([len(each) for each in self.extents.values()])
        return dict(zip(self.extents, np.split(place, ends[:-1]), strict=True))

    def _shares_before(self, unseen: int) -> list[F64]:
        """Of each extent that was seen, the share of the unit's extents in its file that lie before it; by file."""
        rooms = [_room(each) for each in self.extents.values()]
        missing = max(0.0, unseen - sum(float(room.sum()) for room in rooms)) / (2 * len(rooms))
        for room in rooms:  # they must be somewhere
            room[[0, -1]] += missing
        likely = [_unseen_between(each) for each in self.pages.values()]
        filled = _fill(np.concatenate(rooms), np.concatenate(likely), unseen)
        shares = []
        for each in np.split(filled, np.cumsum([len(room) for room in rooms])[:-1]):
            before = np.arange(len(each) - 1) + np.cumsum(each[:-1])
            shares.append(before / (len(each) - 1 + each.sum()))
        return shares


def _room(extents: I64) -> F64:
    """Extents of the file before, between and behind those that were seen; at both ends as between those near by."""
    gaps = np.diff(extents).astype(np.float64) - 1
    first, last = (float(near.mean()) if len(near) else 0.0 for near in (gaps[:NEIGHBOURS], gaps[-NEIGHBOURS:]))
    return np.concatenate(([first], gaps, [last]))


def _unseen_between(pages: I64) -> F64:
    """Extents to be expected before, between and behind those that were seen, from how much was seen of them."""
    counts = ((pages[:, None] >> np.arange(EXTENT)) & 1).sum(axis=1).astype(np.float64)
    window = np.ones(min(NEIGHBOURS, len(counts)))
    mean = np.convolve(counts, window, "same") / np.convolve(np.ones(len(counts)), window, "same")
    rate = mean
    for _ in range(_ROUNDS):  # the mean of those with at least one is rate / (1 - exp(-rate))
        rate = mean * -np.expm1(-rate)
    unseen = 1 / np.maximum(np.expm1(rate), 1 / _MANY)
    return np.asarray(np.concatenate((unseen[:1], (unseen[1:] + unseen[:-1]) / 2, unseen[-1:])), dtype=np.float64)


def _fill(room: F64, likely: F64, unseen: int) -> F64:
    """So many extents put where they are likely, in proportion to that and no more than there is room for."""
    low, high = -100.0, 100.0  # powers of two
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        enough = float(np.minimum(room, 2**middle * likely).sum()) >= unseen
        low, high = (low, middle) if enough else (middle, high)
    filled = np.minimum(room, 2**high * likely)
    return np.asarray(filled * (unseen / filled.sum() if filled.sum() > 0 else 0.0), dtype=np.float64)
