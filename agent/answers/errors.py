"""What a command that fails answers."""

from __future__ import annotations

from agent.answers.kind import answer


@answer
class Failure:
    """What went wrong."""

    exit_code: int
    """How the command ends: one of the codes of hotplace --help."""
    sentence: str
    next: str | None
    """What to do about it."""


@answer
class FailureAnswer:
    """The document of a command that fails before it has printed another."""

    error: Failure
