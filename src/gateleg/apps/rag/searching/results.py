"""The result of a search: hits that cite document, page, characters and chunk."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gateleg.apps.rag.searching.requests import Fusion, Mode  # noqa: TC001 - pydantic reads them


class ResponseModel(BaseModel):
    """Base of response models: frozen, in camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Passage(ResponseModel):
    """A chunk next to a hit."""

    ordinal: int
    text: str
    page: int | None = None
    start: int
    end: int
    heading: str | None = None


class HitExplanation(ResponseModel):
    """Why a hit was found, and the parts of its score."""

    #: rank by similarity and by BM25, starting at 1; None if that search did not find it
    vector_rank: int | None = None
    keyword_rank: int | None = None
    vector_part: float = 0.0
    keyword_part: float = 0.0
    #: words of the query, as they occur in the text
    matched_words: list[str] = Field(default_factory=list)
    sentence: str = ""


class SearchHit(ResponseModel):
    """A passage with its location and scores."""

    repository_id: str
    collection_id: str
    document_id: str
    document_name: str
    #: the object key of the document
    source: str
    generation: int
    #: the version of the document that the passage is from: its number, and the SHA-256 digest of its file
    revision: int = 0
    content_hash: str | None = None
    #: 0-based number of the chunk in its document
    ordinal: int
    #: the characters [start, end) of the document's extracted text
    start: int
    end: int
    #: the page on which the passage begins
    page: int | None = None
    #: [page, start] of the further pages that it reaches into, as characters of the document's extracted text
    page_starts: list[list[int]] = Field(default_factory=list)
    boxes: list[list[float]] | None = None
    heading: str | None = None
    text: str
    #: the best part of the text, as a span of it
    snippet: tuple[int, int] | None = None
    #: words of the query, as spans of the text
    highlights: list[tuple[int, int]] = Field(default_factory=list)
    #: hits are sorted by this: similarity (vector), BM25 (keyword), both combined (hybrid), or the reranker's score
    score: float
    #: cosine
    similarity: float | None = None
    #: BM25
    keyword: float | None = None
    rerank: float | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)
    before: list[Passage] = Field(default_factory=list)
    after: list[Passage] = Field(default_factory=list)
    why: HitExplanation | None = None

    @property
    def citation(self) -> str:
        """A short citation: document and pages."""
        if self.page is None:
            return self.document_name
        last = self.page_starts[-1][0] if self.page_starts else self.page
        return f"{self.document_name}, " + (f"page {self.page}" if last == self.page else f"pages {self.page} to {last}")

    def page_at(self, position: int) -> int | None:
        """The page of a character of the passage, given its position in the document's extracted text."""
        return next((page for page, start in reversed(self.page_starts) if start <= position), self.page)


class SearchResult(ResponseModel):
    """Hits, best first, and how they were found."""

    hits: list[SearchHit]
    search_mode: Mode
    #: the mode that was used: `keyword` instead of `hybrid` if the embedding model did not respond
    actual_mode_used: Mode
    fusion: Fusion | None = None
    #: why another mode was used, or no reranker
    note: str | None = None
    reranked_by: str | None = None
    #: the offset of the next page; None on the last one
    next_offset: int | None = None
    collections_searched: int = 0
    milliseconds: float = 0.0
