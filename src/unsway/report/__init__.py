"""Facts to something to look at; nothing is computed here."""

from .audit_report import write_audit_report
from .frontier_report import write_frontier_report
from .html import Figure, Page, Text
from .words import Table

__all__ = ["Figure", "Page", "Table", "Text", "write_audit_report", "write_frontier_report"]
