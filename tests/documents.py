"""Holds every JSON document that a test gets from a command to the schema that is published for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from agent.cli.commands import COMMANDS
from agent.web.schemas import ERROR, read_schema, schema_names

OF_GROUPS = {"audit", "fleet", "ledger", "notify", "rules"}  # commands whose commands have documents of their own


def command_of(arguments: Sequence[str]) -> str:
    """The command of a command line, as its schema is named."""
    at = next(at for at, word in enumerate(arguments) if word in COMMANDS and arguments[at - 1] not in _TAKING)
    below = (word for word in arguments[at + 1 :] if not word.startswith("-"))
    return f"{arguments[at]}-{next(below)}" if arguments[at] in OF_GROUPS else arguments[at]


_TAKING = {"--config", "--database"}


def check_document(arguments: Sequence[str], document: Mapping[str, Any]) -> None:
    """Hold what a command printed to its schema, closed: a key that the schema does not name is a mistake, too.

    Raises:
        ValidationError: it does not fit.
        AssertionError: there is no schema for the command.
    """
    name = ERROR if document.keys() == {"error"} else command_of(arguments)
    assert name in schema_names(), f"{name} has no schema in agent/web/documents"
    _validator(name).validate(document)


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(closed(read_schema(name)), format_checker=FormatChecker())


def closed(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without any other key: readers get the open one, so that keys may be added."""
    found: dict[str, Any] = deepcopy(dict(schema))
    _close(found)
    return found


def _close(part: Any) -> None:
    if isinstance(part, dict):
        if isinstance(part.get("properties"), dict):
            part.setdefault("additionalProperties", False)
        for inner in part.values():
            _close(inner)
    elif isinstance(part, list):
        for inner in part:
            _close(inner)
