"""The request for a search."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

Mode = Literal["hybrid", "vector", "keyword"]
Fusion = Literal["weighted", "rrf"]

#: Weights of vector and keyword scores in hybrid search; tuned on one labelled set and checked on others (docs/why/rag.md).
VECTOR_WEIGHT, LEXICAL_WEIGHT = 0.6, 0.4
#: The constant of reciprocal rank fusion, as published by its authors.
RRF_K = 60
MAX_QUERY_CHARACTERS = 4_000
#: Maximum of offset + top_k. Further down, a better query helps more than paging.
MAX_HITS = 1_000
_MODE_ALIASES = {"semantic": "vector", "similarity": "vector", "lexical": "keyword", "fulltext": "keyword", "full_text": "keyword"}


class SearchRequest(BaseModel):
    """A query and how to search for it. Field names are also accepted in camelCase, as in the API."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")

    query: str = Field(
        min_length=1,
        max_length=MAX_QUERY_CHARACTERS,
        description="the query; in a short one, words in double quotes must occur as a phrase",
    )
    top_k: int = Field(default=10, ge=1, le=MAX_HITS, description="number of hits to return")
    offset: int = Field(default=0, ge=0, lt=MAX_HITS, description="number of hits to skip; the response has the offset of the next page")
    search_mode: Mode = Field(default="hybrid", description="search by meaning (vector), by words (keyword), or both (hybrid)")
    fusion: Fusion = Field(default="weighted", description="how hybrid combines both: by scores (weighted) or by ranks (rrf)")
    vector_weight: float = Field(default=VECTOR_WEIGHT, ge=0, le=1, description="the weight of meaning in hybrid")
    lexical_weight: float = Field(default=LEXICAL_WEIGHT, ge=0, le=1, description="the weight of words in hybrid: 1 minus vectorWeight")
    rrf_k: int = Field(default=RRF_K, ge=1, le=1_000, description="the constant of rrf")
    score_threshold: float | None = Field(
        default=None, description="the minimum cosine similarity of a hit (vector, hybrid), or the minimum BM25 score (keyword)"
    )
    filter: dict[str, Any] | None = Field(default=None, description='a metadata filter: {"year": {"gte": 2020}, "tags": "manual"}')
    document_ids: list[str] | None = Field(default=None, max_length=1_000, description="search only these documents")
    diversity: float = Field(default=0.0, ge=0, le=1, description="how much hits should differ from each other (MMR); 0 turns it off")
    neighbours: int = Field(default=0, ge=0, le=5, description="chunks before and after each hit to return with it")
    feedback: bool | None = Field(
        default=None, description="run a second vector search, nearer to the best three hits; by default, hybrid searches do"
    )
    rerank: bool = Field(default=True, description="let the configured reranker, if there is one, reorder the best hits")
    highlight: bool = Field(default=True, description="mark the words of the query in the texts")
    explain: bool = Field(default=False, description="explain why each hit was found")

    def feeds_back(self, mode: Mode) -> bool:
        """Whether a search in this mode runs a second vector search. By default, hybrid searches with weighted fusion do."""
        if mode == "keyword":
            return False
        return mode == "hybrid" and self.fusion == "weighted" if self.feedback is None else self.feedback

    @model_validator(mode="before")
    @classmethod
    def _complete_weights(cls, body: Any) -> Any:
        """If only one weight is sent, set the other so that they sum to 1."""
        if not isinstance(body, dict):
            return body
        completed = dict(body)
        for name, other in (("vectorWeight", "lexicalWeight"), ("lexicalWeight", "vectorWeight")):
            names = {name: (name, _snake(name)), other: (other, _snake(other))}
            value = next((completed[spelling] for spelling in names[name] if completed.get(spelling) is not None), None)
            if isinstance(value, (int, float)) and not any(completed.get(spelling) is not None for spelling in names[other]):
                completed[other] = round(1 - value, 6)
        return completed

    @field_validator("search_mode", mode="before")
    @classmethod
    def _normalise_mode(cls, mode: Any) -> Any:
        folded = mode.lower() if isinstance(mode, str) else mode
        return _MODE_ALIASES.get(folded, folded) if isinstance(folded, str) else folded

    @field_validator("query")
    @classmethod
    def _check_query(cls, query: str) -> str:
        return check_query_text(query)

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> Self:
        if abs(self.vector_weight + self.lexical_weight - 1) > 1e-3:
            raise ValueError("vectorWeight and lexicalWeight must sum to 1")
        if self.offset + self.top_k > MAX_HITS:
            raise ValueError(f"offset and topK reach beyond the first {MAX_HITS} hits: narrow the search down with a filter")
        return self


def check_query_text(text: str) -> str:
    """Return a query or question unchanged; raise `ValueError` if it is blank or contains a NUL character."""
    if "\x00" in text:
        raise ValueError("it contains a NUL character, which is not text")
    if not text.strip():
        raise ValueError("it has no words")
    return text


def _snake(camel: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in camel)
