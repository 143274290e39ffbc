"""Which documents are served, and what may be asked of each."""

from __future__ import annotations

from collections.abc import Container, Iterable
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import parse_qs

from connectors.base import HotplaceError

VERSION = "v1"
PREFIX = f"/api/{VERSION}/"
MOST = 500  # rows of one answer: what a page or a script looks at, made within moments
NUMBER_MOST = 2**31 - 1
TEXT_MOST = 512  # characters


class Kind(StrEnum):
    """Types of JSON Schema that a parameter may have."""

    TEXT = "string"
    NUMBER = "integer"


class Parameter(NamedTuple):
    """One thing that may be asked for in the query of an address."""

    name: str
    what: str
    kind: Kind = Kind.TEXT
    most: int = TEXT_MOST  # characters of a text, or the largest number
    required: bool = False
    argument: str = ""  # of the command's function; "": the same name


class Endpoint(NamedTuple):
    """A document: the one that ``hotplace COMMAND --json`` prints; pins: ``pin --list``, audit: ``history --audit``."""

    command: str
    what: str
    parameters: tuple[Parameter, ...] = ()
    title: str = ""  # of its schema's file; "": the command's name

    @property
    def schema(self) -> str:
        """Name of its JSON Schema."""
        return self.title or self.command


class WrongRequest(HotplaceError):
    """The query of an address asks for what there is not."""


DATABASE = Parameter("database", "Which configured database is meant; needed where there are several.")
LIMIT = Parameter("limit", "At most so many rows.", Kind.NUMBER, MOST)

# No command that connects to a database, plans (as `explain` does once more) or checks the whole chain is among them.
ENDPOINTS = (
    Endpoint("status", "The daemon, open proposals, moves under way, the trace, room in each tier.", (DATABASE,)),
    Endpoint("top", "What moves, how far it is, what waits, and the units that matter most.", (DATABASE, LIMIT)),
    Endpoint(
        "units",
        "Units ranked by the foreground wait that fast storage would save them.",
        (
            DATABASE,
            LIMIT,
            Parameter("verdict", "Only units with this verdict."),
            Parameter("like", "Only units whose key matches; * and ? as in file names."),
            Parameter("sort", "Sort by this column of `hotplace units`, the most first."),
        ),
    ),
    Endpoint("proposals", "What waits for a decision or is being carried out.", (DATABASE,)),
    Endpoint(
        "show",
        "One proposal with its moves, locks and statements.",
        (Parameter("proposal", "Number of the proposal.", Kind.NUMBER, NUMBER_MOST, required=True, argument="number"),),
    ),
    Endpoint("history", "The newest moves with their state, statements and outcome.", (DATABASE, LIMIT)),
    Endpoint("outcomes", "What was measured after moves, next to the prediction.", (DATABASE, LIMIT)),
    Endpoint("pins", "Pins with their state when last planned.", (DATABASE,), title="pin-list"),
    Endpoint(
        "audit",
        "The newest links of the audit chain; it is not verified here.",
        (LIMIT, Parameter("event", "Only events that match; * and ? as in file names.")),
        title="history-audit",
    ),
)
BY_NAME = {endpoint.command: endpoint for endpoint in ENDPOINTS}


def parse_query(endpoint: Endpoint, query: str) -> dict[str, str | int]:
    """What is asked, by name of the parameter.

    Raises:
        WrongRequest: a parameter that there is not, that is missing or given twice, or a value that does not fit.
    """
    given = parse_qs(query, keep_blank_values=True, max_num_fields=2 * len(endpoint.parameters) + 2)
    known = {parameter.name: parameter for parameter in endpoint.parameters}
    for name, values in given.items():
        if name not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise WrongRequest(f"{endpoint.command} has no parameter {name[:TEXT_MOST]!r}", advice=takes)
        if len(values) > 1:
            raise WrongRequest(f"{name} is given {len(values)} times", advice="Give it once.")
    _require(known.values(), given)
    return {name: _value(known[name], values[0]) for name, values in given.items()}


def _require(parameters: Iterable[Parameter], given: Container[str]) -> None:
    for parameter in parameters:
        if parameter.required and parameter.name not in given:
            raise WrongRequest(f"{parameter.name} is missing", advice=parameter.what)


def _value(parameter: Parameter, text: str) -> str | int:
    if parameter.kind is Kind.TEXT:
        if len(text) > parameter.most:
            raise WrongRequest(f"{parameter.name} has {len(text)} characters", advice=f"At most {parameter.most}.")
        return text
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(NUMBER_MOST))
    if not digits or not 1 <= int(text) <= parameter.most:
        raise WrongRequest(f"{parameter.name} is {text[:40]!r}", advice=f"A whole number from 1 to {parameter.most}.")
    return int(text)
