"""Parse documents into text with pages, lines and headings. Untrusted files are parsed in processes with limits."""

from gateleg.apps.rag.parsing.document import Line, Page, ParseBounds, ParsedDocument
from gateleg.apps.rag.parsing.isolated_parser import parse

__all__ = ["Line", "Page", "ParseBounds", "ParsedDocument", "parse"]
