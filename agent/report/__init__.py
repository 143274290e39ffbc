"""One page for the auditor and the storage architect: what was proposed, decided, moved and measured."""

from agent.report.content import Report, report_of
from agent.report.document import database_reported
from agent.report.page import html_page, markdown_page

__all__ = ["Report", "database_reported", "html_page", "markdown_page", "report_of"]
