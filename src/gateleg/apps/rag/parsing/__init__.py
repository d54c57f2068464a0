"""Reading documents: their text with pages, lines and headings. Files that others have sent are read in processes with limits."""

from gateleg.apps.rag.parsing.document import Line, Page, ParseBounds, ParsedDocument
from gateleg.apps.rag.parsing.reading import parse

__all__ = ["Line", "Page", "ParseBounds", "ParsedDocument", "parse"]
