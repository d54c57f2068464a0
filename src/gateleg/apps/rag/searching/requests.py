"""What a search asks for."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

Mode = Literal["hybrid", "vector", "keyword"]
Fusion = Literal["weighted", "rrf"]

#: The weights of meaning and words; tuned on one labelled set and checked on others (docs/why/rag.md).
VECTOR_WEIGHT, LEXICAL_WEIGHT = 0.6, 0.4
#: The constant of reciprocal rank fusion, as its authors have it.
RRF_K = 60
LONGEST_QUERY = 4_000
#: Hits that paging reaches: beyond them, a better query is what helps.
DEEPEST = 1_000
_WORDS_FOR_MODES = {"semantic": "vector", "similarity": "vector", "lexical": "keyword", "fulltext": "keyword", "full_text": "keyword"}


class SearchRequest(BaseModel):
    """A query and how to search for it. Names are also accepted in camelCase, as the API has them."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")

    query: str = Field(
        min_length=1,
        max_length=LONGEST_QUERY,
        description="what to look for; in a short one, words in double quotes must occur as a phrase",
    )
    top_k: int = Field(default=10, ge=1, le=DEEPEST, description="how many hits")
    offset: int = Field(default=0, ge=0, lt=DEEPEST, description="how many hits to skip: that of the next page is in the answer")
    search_mode: Mode = Field(default="hybrid", description="by meaning (vector), by words (keyword), or both (hybrid)")
    fusion: Fusion = Field(default="weighted", description="how hybrid combines both: by their scores (weighted), or by their ranks (rrf)")
    vector_weight: float = Field(default=VECTOR_WEIGHT, ge=0, le=1, description="the weight of meaning in hybrid")
    lexical_weight: float = Field(default=LEXICAL_WEIGHT, ge=0, le=1, description="the weight of words in hybrid; 1 less vectorWeight")
    rrf_k: int = Field(default=RRF_K, ge=1, le=1_000, description="the constant of rrf")
    score_threshold: float | None = Field(
        default=None, description="the least cosine similarity of a hit (vector, hybrid), or the least BM25 (keyword)"
    )
    filter: dict[str, Any] | None = Field(default=None, description='a metadata filter: {"year": {"gte": 2020}, "tags": "manual"}')
    document_ids: list[str] | None = Field(default=None, max_length=1_000, description="search these documents only")
    diversity: float = Field(default=0.0, ge=0, le=1, description="how much hits should differ from each other (MMR): 0 not at all")
    neighbours: int = Field(default=0, ge=0, le=5, description="chunks before and after each hit to return with it")
    feedback: bool = Field(default=False, description="search once more by meaning, nearer to the best three hits")
    rerank: bool = Field(default=True, description="have the configured reranker order the best hits, where there is one")
    highlight: bool = Field(default=True, description="mark the words of the query in the texts")
    explain: bool = Field(default=False, description="say why each hit was found")

    @model_validator(mode="before")
    @classmethod
    def _complete_weights(cls, given: Any) -> Any:
        """One weight is enough: the other is what is left of 1."""
        if not isinstance(given, dict):
            return given
        found = dict(given)
        for name, other in (("vectorWeight", "lexicalWeight"), ("lexicalWeight", "vectorWeight")):
            names = {name: (name, _snake(name)), other: (other, _snake(other))}
            value = next((found[one] for one in names[name] if found.get(one) is not None), None)
            if isinstance(value, (int, float)) and not any(found.get(one) is not None for one in names[other]):
                found[other] = round(1 - value, 6)
        return found

    @field_validator("search_mode", mode="before")
    @classmethod
    def _known_mode(cls, given: Any) -> Any:
        folded = given.lower() if isinstance(given, str) else given
        return _WORDS_FOR_MODES.get(folded, folded) if isinstance(folded, str) else folded

    @field_validator("query")
    @classmethod
    def _says_something(cls, query: str) -> str:
        return says_something(query)

    @model_validator(mode="after")
    def _weights_sum_to_one(self) -> Self:
        if abs(self.vector_weight + self.lexical_weight - 1) > 1e-3:
            raise ValueError("vectorWeight and lexicalWeight must sum to 1")
        if self.offset + self.top_k > DEEPEST:
            raise ValueError(f"offset and topK reach beyond the first {DEEPEST} hits: narrow the search down with a filter")
        return self


def says_something(text: str) -> str:
    """A query or question that has words, and no characters that text cannot have."""
    if "\x00" in text:
        raise ValueError("it contains a NUL character, which is not text")
    if not text.strip():
        raise ValueError("it has no words")
    return text


def _snake(camel: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in camel)
