"""Split a text into chunks by a strategy. Pure, except for the tokenizer and the embedding function that are passed in."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gateleg.apps.rag.chunking.headings import blocks, find_headings, heading_paths, sections
from gateleg.apps.rag.chunking.semantic import semantic
from gateleg.apps.rag.chunking.sentences import sentences
from gateleg.apps.rag.chunking.spans import Span, spans_of
from gateleg.apps.rag.chunking.splitting import packed, pieces, recursive, windows
from gateleg.apps.rag.chunking.strategy import DEFAULT_SEPARATORS, ChunkingType, Strategy
from gateleg.apps.rag.chunking.tokens import estimate_tokens, token_windows
from gateleg.apps.rag.errors import BadChunking

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gateleg.apps.rag.chunking.headings import Heading
    from gateleg.apps.rag.chunking.semantic import Embed
    from gateleg.apps.rag.chunking.splitting import Range
    from gateleg.apps.rag.chunking.tokens import Tokenize

#: Maximum bytes of a chunk's text: a DynamoDB item has at most 400 KB, including the vector and the metadata.
LARGEST_CHUNK = 300_000


def chunk(
    text: str,
    strategy: Strategy,
    *,
    headings: Sequence[Heading] | None = None,
    tokenize: Tokenize | None = None,
    embed: Embed | None = None,
) -> list[Span]:
    """The chunks of a text, in order. They contain every character except white space; the text of a chunk is `text[span.start:span.end]`.

    `headings` are those that a parser has found. If they are None, strategy MARKDOWN looks for Markdown headings. TOKEN counts tokens with
    `tokenize`, or estimates them; SEMANTIC needs `embed`.
    """
    if headings is None:
        headings = find_headings(text) if strategy.type is ChunkingType.MARKDOWN else ()
    found = spans_of(text, _ranges(text, strategy, headings, tokenize, embed))
    paths = heading_paths(headings, [span.start for span in found])
    return [span if path is None else replace(span, heading=path) for span, path in zip(found, paths, strict=True)]


def _ranges(text: str, strategy: Strategy, headings: Sequence[Heading], tokenize: Tokenize | None, embed: Embed | None) -> Iterable[Range]:
    size, overlap = strategy.size, strategy.overlap
    match strategy.type:
        case ChunkingType.FIXED:
            return windows(text, 0, len(text), size, overlap)
        case ChunkingType.RECURSIVE:
            return recursive(text, 0, len(text), strategy.separators, size, overlap)
        case ChunkingType.NONE:
            return _whole(text)
        case ChunkingType.SENTENCE:
            return packed(_small_sentences(text, size), size, overlap)
        case ChunkingType.MARKDOWN:
            return _markdown(text, headings, size, overlap)
        case ChunkingType.TOKEN:
            return token_windows(text, (tokenize or estimate_tokens)(text), size, overlap)
        case ChunkingType.SEMANTIC:
            if embed is None:
                raise BadChunking("SEMANTIC chunking needs an embedding model.", field="type")
            return semantic(text, _small_sentences(text, size), size, strategy.threshold, embed)


def _whole(text: str) -> list[Range]:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > LARGEST_CHUNK:
        raise BadChunking(
            f"The text of the document has {size:,} bytes; with NONE, it must fit into one chunk of at most {LARGEST_CHUNK:,}.",
            field="type",
            fix="Choose RECURSIVE or another type that splits documents.",
        )
    return [(0, len(text))]


def _small_sentences(text: str, size: int) -> list[Range]:
    """The sentences of a text; those longer than `size` are split between words."""
    return [piece for start, end in sentences(text) for piece in pieces(text, start, end, DEFAULT_SEPARATORS, size)]


def _markdown(text: str, headings: Sequence[Heading], size: int, overlap: int) -> Iterable[Range]:
    for start, end in sections(text, headings, size):
        if end - start <= size:
            yield start, end
        else:
            small = [piece for block in blocks(text, start, end) for piece in pieces(text, *block, DEFAULT_SEPARATORS, size)]
            yield from packed(small, size, overlap)


@dataclass(frozen=True, slots=True)
class Preview:
    """The chunks that a strategy would produce."""

    #: the number of all chunks; `spans` are the first of them
    count: int
    spans: tuple[Span, ...]
    shortest: int
    longest: int
    mean: float


def preview(
    text: str,
    strategy: Strategy,
    *,
    limit: int = 20,
    headings: Sequence[Heading] | None = None,
    tokenize: Tokenize | None = None,
    embed: Embed | None = None,
) -> Preview:
    """The first chunks that a strategy would produce, and statistics of the sizes of all chunks, in characters."""
    found = chunk(text, strategy, headings=headings, tokenize=tokenize, embed=embed)
    sizes = [len(span) for span in found] or [0]
    return Preview(len(found), tuple(found[:limit]), min(sizes), max(sizes), sum(sizes) / len(sizes))
