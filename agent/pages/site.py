"""Pages and documents over HTTP next to the metrics, and their schemas.

``ENDPOINTS`` lists the documents that are served, and what may be asked of each.

``read_schema`` gives the JSON Schema of each document that ``--json`` prints. ``make_openapi`` describes those served.

``Cache`` keeps each answer for a moment, for all who ask the same.

``WebSite`` answers a browser or a program: ``/``, ``/api/v1/COMMAND`` and their description. Everything is read from
the ledger and from what the last cycle left in memory. No answer queries a database or changes anything.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import cache
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar, cast
from urllib.parse import parse_qs

from agent.model.answers.catalog import ANSWERS, ERROR, TITLES
from agent.model.answers.kind import DIALECT, Failure, FailureAnswer, schema_of
from agent.model.logs import EventLog
from agent.service.httpd import Answer
from agent.service.snapshot import Snapshot
from agent.terminal.errors import ExitCode, exit_code_of
from agent.terminal.output import plain_value
from connectors.kit.contract import HotplaceError

if TYPE_CHECKING:
    from datetime import datetime

    from agent.model.answers.watching import StatusShown, TopShown
    from agent.pages.plots import Figure

History = Callable[[str, "datetime"], "Sequence[Figure]"]
DRAWN_SECONDS = 60.0  # that a picture of the last day is kept

VERSION = "v1"
PREFIX = f"/api/{VERSION}/"
MOST = 500  # rows of one answer: what a page or a script looks at, made within moments
NUMBER_MOST = 2**31 - 1
TEXT_MOST = 512  # characters


class ParameterKind(StrEnum):
    """Types of JSON Schema that a parameter may have."""

    TEXT = "string"
    NUMBER = "integer"


class Parameter(NamedTuple):
    """One thing that may be asked for in the query of an address."""

    name: str
    what: str
    kind: ParameterKind = ParameterKind.TEXT
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
LIMIT = Parameter("limit", "At most so many rows.", ParameterKind.NUMBER, MOST)

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
        (
            Parameter(
                "proposal",
                "Number of the proposal.",
                ParameterKind.NUMBER,
                NUMBER_MOST,
                required=True,
                argument="number",
            ),
        ),
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
    if parameter.kind is ParameterKind.TEXT:
        if len(text) > parameter.most:
            raise WrongRequest(f"{parameter.name} has {len(text)} characters", advice=f"At most {parameter.most}.")
        return text
    digits = text.isascii() and text.isdigit() and len(text) <= len(str(NUMBER_MOST))
    if not digits or not 1 <= int(text) <= parameter.most:
        raise WrongRequest(f"{parameter.name} is {text[:40]!r}", advice=f"A whole number from 1 to {parameter.most}.")
    return int(text)


_JSON = "application/json"
_REFUSED = {
    "400": "The query asks for what there is not.",
    "401": "A user and a password are asked for.",
    "403": "Documents are closed, since nothing here asks who is asking.",
    "404": "There is no such document, proposal or unit.",
    "500": "It could not be made; the log says why.",
    "503": "The ledger is busy.",
}


@cache
def schema_names() -> tuple[str, ...]:
    """Every schema that there is, sorted."""
    return tuple(sorted(ANSWERS))


@cache
def read_schema(name: str) -> dict[str, Any]:
    """The JSON Schema of that name, one of ``schema_names``."""
    return schema_of(ANSWERS[name], TITLES[name])


def make_openapi(release: str) -> dict[str, Any]:
    """The description of everything that is served, as OpenAPI 3.1 has it.

    Args:
        release: of hotplace.
    """
    names = sorted({ERROR, *(endpoint.schema for endpoint in ENDPOINTS)})
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": DIALECT,
        "info": {
            "title": "hotplace",
            "version": VERSION,
            "description": f"The documents that `hotplace COMMAND --json` prints, by hotplace {release}. Nothing can "
            "be changed here.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": PREFIX.rstrip("/")}],
        "security": [{"password": []}, {"certificate": []}],
        "paths": {f"/{endpoint.command}": {"get": _operation(endpoint)} for endpoint in ENDPOINTS},
        "components": {
            "securitySchemes": {
                "password": {"type": "http", "scheme": "basic", "description": "metrics.basic_auth"},
                "certificate": {"type": "mutualTLS", "description": "metrics.tls.client_ca"},
            },
            "schemas": _components({name: read_schema(name) for name in names}),
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    refused = {"content": {_JSON: {"schema": {"$ref": f"#/components/schemas/{ERROR}"}}}}
    return {
        "operationId": endpoint.command,
        "summary": endpoint.what,
        "parameters": [_parameter(parameter) for parameter in endpoint.parameters],
        "responses": {
            "200": {
                "description": endpoint.what,
                "content": {_JSON: {"schema": {"$ref": f"#/components/schemas/{endpoint.schema}"}}},
            },
            **{code: {"description": why, **({} if code == "401" else refused)} for code, why in _REFUSED.items()},
        },
    }


def _parameter(parameter: Parameter) -> dict[str, Any]:
    limits = (
        {"maxLength": parameter.most}
        if parameter.kind is ParameterKind.TEXT
        else {"minimum": 1, "maximum": parameter.most}
    )
    return {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.what,
        "schema": {"type": parameter.kind.value, **limits},
    }


def _components(schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Schemas by name, and the parts that they share: a part of one name is the same in each file."""
    found: dict[str, Any] = {}
    for name, schema in schemas.items():
        found |= {f"part-{part}": _relink(inner) for part, inner in schema.get("$defs", {}).items()}
        found[name] = _relink({key: value for key, value in schema.items() if key not in {"$schema", "$defs"}})
    return dict(sorted(found.items()))


def _relink(value: Any) -> Any:  # noqa: ANN401 (whatever a schema holds)
    """A part of a schema with its references led to the components."""
    if isinstance(value, dict):
        return {
            key: str(inner).replace("#/$defs/", "#/components/schemas/part-") if key == "$ref" else _relink(inner)
            for key, inner in value.items()
        }
    return [_relink(inner) for inner in value] if isinstance(value, list) else value


_V = TypeVar("_V")
KEPT_SECONDS = 1.0
MOST_KEPT = 32  # answers that are kept


class Cache(Generic[_V]):
    """Makes one answer at a time, and the same one once a second at most. Safe from several threads."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Tell time by ``monotonic``."""
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._kept: dict[object, tuple[float, _V]] = {}

    def get(self, key: object, make: Callable[[], _V]) -> _V:
        """The answer to a question; what ``make`` raises is not kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None and self._monotonic() - found[0] < KEPT_SECONDS:
                return found[1]
            made = make()
            self._kept.pop(key, None)  # so that the oldest stays the first
            self._kept[key] = (self._monotonic(), made)
            if len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            return made


log = EventLog(__name__)
Documents = Callable[[str, Mapping[str, str | int]], object]
OPENAPI = f"{PREFIX}openapi.json"
SCHEMAS = f"{PREFIX}schemas/"
UNITS = 20  # of each database on the page
JSON_TYPE = "application/json; charset=utf-8"
HTML_TYPE = "text/html; charset=utf-8"
# The page has one style and no script, loads nothing, and may be framed by no other.
PAGE_HEADERS = (
    ("Content-Security-Policy",
     "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
)  # fmt: skip
CLOSED = "these documents name people, hosts and statements, and nothing here asks who is asking"
CLOSED_ADVICE = "metrics.basic_auth, or metrics.tls with client_ca, opens them; hotplace COMMAND --json prints the same"
STATUS_OF = {
    ExitCode.NOT_FOUND: HTTPStatus.NOT_FOUND,
    ExitCode.USAGE: HTTPStatus.BAD_REQUEST,
    ExitCode.CONFIGURATION: HTTPStatus.BAD_REQUEST,
    ExitCode.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
}


class WebSite:
    """Everything but the metrics and health. Safe from several threads."""

    def __init__(
        self,
        documents: Documents,
        snapshots: Callable[[], Iterable[Snapshot]],
        *,
        guarded: bool,
        monotonic: Callable[[], float],
        history: History = lambda _, __: (),
    ) -> None:
        """Wire it up.

        Args:
            documents: what a command prints as JSON, by its name and what is asked of it.
            snapshots: of every watched database.
            guarded: every client that gets here has shown a password or a certificate.
            monotonic: time, for how long an answer is kept.
            history: pictures of the day before an instant, by database; asked for once a minute at most.
        """
        self._monotonic, self._history = monotonic, history
        self._histories: dict[str, tuple[float, Sequence[Figure]]] = {}
        self._documents = documents
        self._snapshots = snapshots
        self._guarded = guarded
        self._cache: Cache[Answer | None] = Cache(monotonic)

    def answer(self, target: str) -> Answer | None:
        """The answer to a GET; None where there is nothing.

        Args:
            target: path and query.
        """
        path, _, query = target.partition("?")
        if path != "/" and not path.startswith(PREFIX):
            return None
        try:
            return self._cache.get((path, query), lambda: self._make(path, query))
        except HotplaceError as error:
            code = ExitCode.USAGE if isinstance(error, WrongRequest) else exit_code_of(error)
            return refusal(STATUS_OF.get(code, HTTPStatus.INTERNAL_SERVER_ERROR), str(error), error.advice, code)

    def _make(self, path: str, query: str) -> Answer | None:
        if path == "/":
            return self._page()
        if path == OPENAPI:
            return _json(make_openapi(version("hotplace")))
        if path.startswith(SCHEMAS):
            name = path.removeprefix(SCHEMAS).removesuffix(".json")
            return _json(read_schema(name)) if name in schema_names() else None
        endpoint = BY_NAME.get(path.removeprefix(PREFIX))
        if endpoint is None:
            return None
        if not self._guarded:
            return refusal(HTTPStatus.FORBIDDEN, CLOSED, CLOSED_ADVICE)
        return self._document(endpoint, query)

    def _document(self, endpoint: Endpoint, query: str) -> Answer:
        asked = parse_query(endpoint, query)
        arguments = {parameter.name: parameter.argument or parameter.name for parameter in endpoint.parameters}
        return _json(self._documents(endpoint.command, {arguments[name]: value for name, value in asked.items()}))

    def _last_day(self, database: str, now: datetime) -> Sequence[Figure]:
        """Its pictures, drawn again once a minute: the page comes every few seconds."""
        drawn = self._histories.get(database)
        if drawn is None or self._monotonic() - drawn[0] >= DRAWN_SECONDS:
            drawn = self._histories[database] = (self._monotonic(), self._history(database, now))
        return drawn[1]

    def _page(self) -> Answer:
        from agent.pages.live_page import render_page  # jinja2 with it: only once someone looks

        status = cast("StatusShown", self._documents("status", {}))
        page = render_page(
            status,
            cast("TopShown", self._documents("top", {"limit": UNITS})),
            {snapshot.database: snapshot for snapshot in self._snapshots()},
            {each.database: self._last_day(each.database, status.at) for each in status.databases},
            guarded=self._guarded,
        )
        return Answer(HTTPStatus.OK, page.encode(), HTML_TYPE, PAGE_HEADERS)


def refusal(status: HTTPStatus, what: str, advice: str, code: ExitCode = ExitCode.NOT_ALLOWED) -> Answer:
    """An error as ``--json`` prints it."""
    return _json(FailureAnswer(error=Failure(exit_code=code, sentence=what, next=advice or None)), status)


def _json(document: object, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    text = json.dumps(plain_value(document), ensure_ascii=False, allow_nan=False)
    return Answer(status, f"{text}\n".encode(), JSON_TYPE)
