"""Errors of planning that commands end with: apart from what plans, which takes a quarter of a second to import."""

from __future__ import annotations

from connectors.base import HotplaceError


class CannotUndo(HotplaceError):
    """A move cannot be taken back: it was not carried out, or the world has changed since."""
