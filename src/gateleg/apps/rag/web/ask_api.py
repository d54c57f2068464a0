"""The routes of `/api/rag` for questions, answered at once or as a stream, and for conversations."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path
from fastapi.responses import Response
from pydantic import Field

from gateleg.apps.rag.answering.answer_stream import AskRequest
from gateleg.apps.rag.answering.answers import Answer, AnswerEvent
from gateleg.apps.rag.answering.service import ask, ask_once, forget_conversation
from gateleg.apps.rag.answering.tables import ConversationTurn
from gateleg.apps.rag.api import resources_of
from gateleg.apps.rag.searching.service import SearchScope
from gateleg.apps.rag.web.search_api import PlaceBody
from gateleg.apps.rag.web.views import View
from gateleg.host.errors import Unknown
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing
from gateleg.web.sse import EventStream, event, stream_headers

router = APIRouter()
_STREAM = "text/event-stream"
Accept = Annotated[str, Header(description=f"`{_STREAM}` streams the answer sentence by sentence.")]
ConversationId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
_ANSWERS: dict[int | str, dict[str, Any]] = {200: {"model": Answer, "content": {_STREAM: {"schema": {"type": "string"}}}}}


class RepositoryQuestion(AskRequest):
    """A question to collections of a repository: the named ones, or all that the caller may search."""

    collection_ids: list[str] = Field(
        default_factory=list, max_length=50, description="Ids or names; by default, all searchable collections."
    )


class Question(AskRequest):
    """A question to collections of several repositories."""

    places: list[PlaceBody] = Field(min_length=1, max_length=50)


class TurnView(View):
    """A question of a conversation, and the chunks that its answer cites."""

    turn: int
    question: str
    searched: str
    found: bool
    places: list[str]
    citations: list[str]
    created_at: datetime

    @classmethod
    def of(cls, turn: ConversationTurn) -> "TurnView":
        """The view of a turn."""
        return cls(**{name: getattr(turn, name) for name in cls.model_fields})


def _request(body: AskRequest, *others: str) -> AskRequest:
    return AskRequest.model_validate(body.model_dump(exclude=set(others)))


async def _answered(call: ApiCall, places: list[SearchScope], request: AskRequest, accept: str) -> Response:
    if _STREAM not in accept:
        found = await ask_once(resources_of(call), call.principal, places, request)
        return Response(found.model_dump_json(by_alias=True), media_type="application/json")
    # `ask` raises before the stream begins, so that a refusal has its own status.
    return EventStream(_events(await ask(resources_of(call), call.principal, places, request)), headers=stream_headers())


async def _events(answer: AsyncIterator[AnswerEvent]) -> AsyncIterator[bytes]:
    number = 0
    async for one in answer:
        number += 1
        yield event(one.kind, one.model_dump(mode="json", by_alias=True, exclude={"kind"}, exclude_none=True), str(number))


@router.post("/ask", response_model=Answer, responses=_ANSWERS)
async def ask_places(call: Using, body: Question, accept: Accept = "") -> Response:
    """Ask collections of several repositories."""
    places = [SearchScope(place.repository_id, place.collection_id) for place in body.places]
    return await _answered(call, places, _request(body, "places"), accept)


@router.post("/repository/{repository_id}/ask", response_model=Answer, responses=_ANSWERS)
async def ask_repository(call: Using, repository_id: str, body: RepositoryQuestion, accept: Accept = "") -> Response:
    """Ask collections of a repository. `sentences` are in the cited passages word for word; other words of a model are `unverified`."""
    places = [SearchScope(repository_id, one) for one in body.collection_ids] or [SearchScope(repository_id)]
    return await _answered(call, places, _request(body, "collection_ids"), accept)


@router.get("/conversation/{conversation_id}")
async def get_conversation(call: Using, conversation_id: ConversationId, limit: Limit = 50, cursor: Cursor = None) -> Listing[TurnView]:
    """List the questions of one of the caller's conversations, in order."""
    turns = ConversationTurn.in_conversation(owner=call.principal.owner, conversation_id=conversation_id)
    page = await call.host.store.page(turns, limit=limit, cursor=cursor)
    if not page.items and cursor is None:
        raise Unknown(f"You have no conversation {conversation_id!r}.")
    return Listing(items=[TurnView.of(turn) for turn in page], next=page.next)


@router.delete("/conversation/{conversation_id}", status_code=204)
async def delete_conversation(call: Using, conversation_id: ConversationId) -> None:
    """Delete one of the caller's conversations."""
    if not await forget_conversation(resources_of(call), call.principal, conversation_id):
        raise Unknown(f"You have no conversation {conversation_id!r}.")
