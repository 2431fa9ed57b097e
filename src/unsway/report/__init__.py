"""Facts to something to look at; nothing is computed here."""

from .html import Figure, Page, Table, Text

__all__ = ["Figure", "Page", "Table", "Text"]
