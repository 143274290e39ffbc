"""The report as a page: HTML for a browser and for paper, Markdown for a ticket."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.model.units_of_measure import format_when
from agent.report.content import Report
from connectors.formatting import format_bytes, format_ratio, format_seconds, printable
from connectors.scripts import shown

if TYPE_CHECKING:
    from jinja2 import Environment

    from agent.report.figures import ReportFigures


def html_page(report: Report, figures: ReportFigures) -> str:
    """One self-contained page without scripts; every text from a database is escaped."""
    from agent.plots.theme import VARIABLES  # only a page with pictures needs what draws them
    from agent.report.pictures import pictures_of
    from agent.report.summary import summary_of

    shown = {"summary": summary_of(report, figures), "pictures": pictures_of(report, figures), "colors": VARIABLES}
    return _environment().get_template("report.html").render(report=report, **shown)


def markdown_page(report: Report) -> str:
    """What was done, as Markdown, without pictures; what would end a cell of a table is escaped."""
    return _environment().get_template("report.md").render(report=report, totals=report.totals)


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape  # only a page needs it

    environment = Environment(
        loader=PackageLoader("agent.report", "templates"),
        autoescape=select_autoescape(("html",)),  # by the template's name
        finalize=_visible,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "bytes": format_bytes, "seconds": format_seconds, "ratio": format_ratio, "when": format_when,
        "cell": _cell, "code": _code, "shown": shown,
    }  # fmt: skip
    return environment


def _visible(value: object) -> object:
    """Control characters in names and statements as escapes: a browser, a pager or a terminal would obey them."""
    # By its own type: text already marked as safe for HTML has to stay so, or it would be escaped twice.
    return type(value)(printable(value, keep="\n\t")) if isinstance(value, str) else value


def _cell(value: object) -> str:
    """A text that stays within its cell and means nothing to Markdown."""
    text = " ".join(str(value).split())
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return text


def _code(statement: str) -> str:
    """A statement for an indented block."""
    return "\n".join(f"    {line}" for line in statement.splitlines())
