"""Answers what a browser or a program asks of the daemon: ``/``, ``/api/v1/COMMAND`` and their description.

Everything is read from the ledger and from what the last cycle left in memory; no answer touches a database or changes
anything.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from agent.answers.errors import Failure, FailureAnswer
from agent.logs import EventLog
from agent.service.httpd import Answer
from agent.service.snapshot import Snapshot
from agent.terminal.errors import exit_code_of
from agent.terminal.exit_codes import ExitCode
from agent.terminal.output import plain_value
from agent.web.cache import Cache
from agent.web.endpoints import BY_NAME, PREFIX, Endpoint, WrongRequest, parse_query
from agent.web.schemas import make_openapi, read_schema, schema_names
from connectors.base import HotplaceError

if TYPE_CHECKING:
    from agent.answers.watching import StatusShown, TopShown

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


class Site:
    """Everything but the metrics and health. Safe from several threads."""

    def __init__(
        self,
        documents: Documents,
        snapshots: Callable[[], Iterable[Snapshot]],
        *,
        guarded: bool,
        monotonic: Callable[[], float],
    ) -> None:
        """Wire it up.

        Args:
            documents: what a command prints as JSON, by its name and what is asked of it.
            snapshots: of every watched database.
            guarded: whoever gets here has shown a password or a certificate.
            monotonic: time, for how long an answer is kept.
        """
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

    def _page(self) -> Answer:
        from agent.web.page import render_page  # jinja2 with it: only once somebody looks

        page = render_page(
            cast("StatusShown", self._documents("status", {})),
            cast("TopShown", self._documents("top", {"limit": UNITS})),
            {snapshot.database: snapshot for snapshot in self._snapshots()},
            guarded=self._guarded,
        )
        return Answer(HTTPStatus.OK, page.encode(), HTML_TYPE, PAGE_HEADERS)


def refusal(status: HTTPStatus, what: str, advice: str, code: ExitCode = ExitCode.NOT_ALLOWED) -> Answer:
    """An error as ``--json`` prints it."""
    return _json(FailureAnswer(error=Failure(exit_code=code, sentence=what, next=advice or None)), status)


def _json(document: object, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    text = json.dumps(plain_value(document), ensure_ascii=False, allow_nan=False)
    return Answer(status, f"{text}\n".encode(), JSON_TYPE)
