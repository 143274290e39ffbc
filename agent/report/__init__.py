"""One page for the auditor and the storage architect: what was proposed, decided, moved and measured."""

from agent.report.content import Report, report_of
from agent.report.document import report_document
from agent.report.page import html_page, markdown_page

__all__ = ["Report", "html_page", "markdown_page", "report_document", "report_of"]
