"""Documented views and columns by release, from a catalog file; never from the queries of a connector."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

Release = tuple[int, ...]


class CatalogFile:
    """A file ``{"views": {name: {"since", "columns": {name: type}, "column_since": {name: since}, ...}}}``."""

    def __init__(self, path: Path, release_of: Callable[[str], Release]) -> None:
        """Reads nothing yet.

        Args:
            path: of the file.
            release_of: the release that a ``since`` names.
        """
        self._path = path
        self._release_of = release_of

    @cached_property
    def _views(self) -> Mapping[str, Mapping[str, Any]]:
        views: dict[str, dict[str, Any]] = json.loads(self._path.read_text(encoding="utf-8"))["views"]
        return views

    def entry(self, name: str, release: Release) -> Mapping[str, Any] | None:
        """What the file says of a view; None where that release has none of the name."""
        entry = self._views.get(name)
        return None if entry is None or self._release_of(entry["since"]) > release else entry

    def columns(self, entry: Mapping[str, Any], release: Release) -> dict[str, str]:
        """Columns that the view has in that release, with their documented types."""
        since = entry.get("column_since", {})
        return {
            column: kind
            for column, kind in entry["columns"].items()
            if column not in since or self._release_of(since[column]) <= release
        }

    def every_column(self) -> Iterator[tuple[str, str]]:
        """Name and type of every column of every view, whatever the release."""
        for entry in self._views.values():
            yield from entry["columns"].items()
