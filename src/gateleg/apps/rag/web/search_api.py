"""The routes of `/api/rag` for searches, in Gateleg's form and in that of the public system."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from gateleg.apps.rag.api import caller_of, resources_of
from gateleg.apps.rag.collections import DEFAULT_ALIAS
from gateleg.apps.rag.errors import BadSearch
from gateleg.apps.rag.repositories import get_repository
from gateleg.apps.rag.searching.requests import MAX_QUERY_CHARACTERS, SearchRequest
from gateleg.apps.rag.searching.results import SearchHit, SearchResult
from gateleg.apps.rag.searching.service import SearchScope, search
from gateleg.web.api.calls import ApiCall, Using

router = APIRouter()


class RepositorySearch(SearchRequest):
    """A search in collections of a repository: the named ones, or all that the caller may search."""

    collection_ids: list[str] = Field(
        default_factory=list, max_length=50, description="Ids or names; by default, all searchable collections."
    )

    def request(self) -> SearchRequest:
        """The search request without the scope."""
        return SearchRequest.model_validate(self.model_dump(exclude={"collection_ids"}))


class PlaceBody(BaseModel):
    """A repository, or one of its collections."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")

    repository_id: str = Field(max_length=100)
    collection_id: str | None = Field(default=None, max_length=200)


class SearchBody(SearchRequest):
    """A search in collections of several repositories."""

    places: list[PlaceBody] = Field(min_length=1, max_length=50)

    def request(self) -> SearchRequest:
        """The search request without the scope."""
        return SearchRequest.model_validate(self.model_dump(exclude={"places"}))


class Excerpt(BaseModel):
    """A passage in the form of the public system."""

    page_content: str
    metadata: dict[str, Any]


class Found(BaseModel):
    """The envelope of a passage."""

    document: Excerpt = Field(serialization_alias="Document")


class SimilarView(BaseModel):
    """The best passages, and how they were found."""

    docs: list[Found]
    metadata: dict[str, Any]


@router.post("/search")
async def search_places(call: Using, body: SearchBody) -> SearchResult:
    """Search collections of several repositories together."""
    places = [SearchScope(place.repository_id, place.collection_id) for place in body.places]
    return await search(resources_of(call), call.principal, places, body.request())


@router.post("/repository/{repository_id}/search")
async def search_repository(call: Using, repository_id: str, body: RepositorySearch) -> SearchResult:
    """Search collections of a repository: the named ones, or all that the caller may search."""
    places = [SearchScope(repository_id, one) for one in body.collection_ids] or [SearchScope(repository_id)]
    return await search(resources_of(call), call.principal, places, body.request())


@router.get("/repository/{repository_id}/similaritySearch")
async def similarity_search(
    call: Using,
    repository_id: str,
    query: Annotated[str, Query(min_length=1, max_length=MAX_QUERY_CHARACTERS)],
    collection_id: Annotated[str | None, Query(alias="collectionId", max_length=200, description="A collection's id or name.")] = None,
    model: Annotated[str | None, Query(alias="modelName", max_length=200, description="The id of the default collection.")] = None,
    top: Annotated[int, Query(alias="topK", ge=1, le=100)] = 3,
    score: bool = False,
    mode: Annotated[str, Query(alias="searchMode", max_length=20)] = "hybrid",
    vector_weight: Annotated[float | None, Query(alias="vectorWeight", ge=0, le=1)] = None,
    lexical_weight: Annotated[float | None, Query(alias="lexicalWeight", ge=0, le=1)] = None,
) -> SimilarView:
    """Search a collection, or all collections that the caller may search, in the form of the public system."""
    weights = {"vectorWeight": vector_weight, "lexicalWeight": lexical_weight}
    asked = {"query": query, "topK": top, "searchMode": mode, **{name: value for name, value in weights.items() if value is not None}}
    place = SearchScope(repository_id, await _named(call, repository_id, collection_id, model))
    found = await search(resources_of(call), call.principal, [place], _checked(asked))
    used = {"search_mode": found.search_mode, "actual_mode_used": found.actual_mode_used, "backend": "embedded", "hybrid_supported": True}
    return SimilarView(docs=[Found(document=_excerpt(hit, score)) for hit in found.hits], metadata=used)


def _checked(asked: dict[str, Any]) -> SearchRequest:
    try:
        return SearchRequest.model_validate(asked)
    except ValidationError as error:
        raise BadSearch("; ".join(one["msg"] for one in error.errors()), fix="See the parameters of POST .../search.") from None


async def _named(call: ApiCall, repository_id: str, collection_id: str | None, model: str | None) -> str | None:
    if collection_id is not None or model is None:
        return collection_id
    repository = await get_repository(call.host.store, caller_of(call), repository_id)
    return DEFAULT_ALIAS if repository.config.embedding_model_id == model else model


def _excerpt(hit: SearchHit, score: bool) -> Excerpt:
    about: dict[str, Any] = {
        **hit.metadata,
        "source": hit.source,
        "name": hit.document_name,
        "document_id": hit.document_id,
        "contentHash": hit.content_hash,
        "repositoryId": hit.repository_id,
        "collectionId": hit.collection_id,
        "part": hit.ordinal + 1,
        "page": hit.page,
        "start": hit.start,
        "end": hit.end,
    }
    return Excerpt(page_content=hit.text, metadata=about | ({"similarity_score": hit.score} if score else {}))
