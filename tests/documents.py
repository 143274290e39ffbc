"""Holds every JSON document that a test gets from a command to the schema that is published for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker

from agent.cli.commands import COMMANDS
from agent.model.answers.catalog import ERROR, TITLES
from agent.pages.site import read_schema

_TAKING = {"--config", "--database"}
LIST = "approve-list"  # of several proposals, which no option tells from one


def command_of(arguments: Sequence[str], document: Mapping[str, Any]) -> str:
    """The name of the schema whose title has the most words of a command line, of those that have no other word."""
    at = next(at for at, word in enumerate(arguments) if word in COMMANDS and arguments[at - 1] not in _TAKING)
    if arguments[at] == "approve" and "list" in document:
        return LIST
    given = {word.partition("=")[0] for word in arguments[at:]}
    fit = {name: words for name, words in _words_of_titles().items() if words[0] == arguments[at] and given >= {*words}}
    assert fit, f"{' '.join(arguments[at:])} has no answer in agent/model/answers/catalog.py"
    return max(fit, key=lambda name: len(fit[name]))


@cache
def _words_of_titles() -> dict[str, list[str]]:
    """The command line that stands in the title of each schema, without ``hotplace`` and ``--json``."""
    return {name: title.split()[1:-1] for name, title in TITLES.items() if name not in {ERROR, LIST}}


def check_document(arguments: Sequence[str], document: Mapping[str, Any]) -> None:
    """Hold what a command printed to its schema, closed: a key that the schema does not name is a mistake, too.

    Raises:
        ValidationError: it does not fit.
        AssertionError: there is no schema for the command.
    """
    name = ERROR if document.keys() == {"error"} else command_of(arguments, document)
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
