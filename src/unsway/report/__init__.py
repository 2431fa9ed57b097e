"""Reports of audits and sweeps as HTML; they compute and decide nothing."""

from .alternatives_report import write_alternatives_report
from .audit_report import write_audit_report
from .frontier_report import write_frontier_report
from .html import Figure, Page, Table, Text

__all__ = [
    "Figure",
    "Page",
    "Table",
    "Text",
    "write_alternatives_report",
    "write_audit_report",
    "write_frontier_report",
]
