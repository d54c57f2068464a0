"""Split documents into chunks: strategies, and the spans that they produce. Pure."""

from gateleg.apps.rag.chunking.chunker import LARGEST_CHUNK, Preview, chunk, preview
from gateleg.apps.rag.chunking.headings import Heading, find_headings, heading_paths
from gateleg.apps.rag.chunking.spans import Span
from gateleg.apps.rag.chunking.strategy import DEFAULT, ChunkingType, Strategy, legacy_strategy, parse_strategy
from gateleg.apps.rag.errors import BadChunking

__all__ = [
    "DEFAULT",
    "LARGEST_CHUNK",
    "BadChunking",
    "ChunkingType",
    "Heading",
    "Preview",
    "Span",
    "Strategy",
    "chunk",
    "find_headings",
    "heading_paths",
    "legacy_strategy",
    "parse_strategy",
    "preview",
]
