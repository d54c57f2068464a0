"""Answer questions on behalf of a principal: check rights before searching, and keep conversations private to their owners."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.answer_stream import AnswerTools, answer
from gateleg.apps.rag.answering.followups import PreviousTurn
from gateleg.apps.rag.answering.tables import KEPT_DAYS, ConversationTurn
from gateleg.apps.rag.errors import BadSearch
from gateleg.apps.rag.reading_log import note_query
from gateleg.apps.rag.searching.service import open_scopes, tools_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.apps.rag.answering.answer_stream import AskRequest
    from gateleg.apps.rag.answering.answers import Answer, AnswerEvent
    from gateleg.apps.rag.searching.service import SearchScope
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.apps.rag.tables import Collection
    from gateleg.host import Principal, Resources

#: Maximum questions in a conversation.
MOST_TURNS = 500


async def ask(
    resources: Resources[RagSettings], principal: Principal, places: Sequence[SearchScope], request: AskRequest
) -> AsyncIterator[AnswerEvent]:
    """Answer a question from collections as a stream of events. Raises before the first event if the caller may not search them."""
    collections = await open_scopes(resources, principal, places)
    turns = await read_conversation(resources, principal, request.conversation_id) if request.conversation_id else []
    if len(turns) >= MOST_TURNS:
        raise BadSearch(
            f"The conversation has {MOST_TURNS} questions already.", fix="Start a new conversation with another conversationId."
        )
    return _asked(resources, principal, collections, request, turns)


async def _asked(
    resources: Resources[RagSettings],
    principal: Principal,
    collections: Sequence[Collection],
    request: AskRequest,
    turns: Sequence[ConversationTurn],
) -> AsyncIterator[AnswerEvent]:
    async for event in answer(answer_tools(resources), collections, request, [_earlier(turn) for turn in turns]):
        if event.answer is None:
            yield event
            continue
        whole = event.answer.model_copy(update={"conversation_id": request.conversation_id})
        await note_query(resources, principal, "rag.ask", collections, request.question, hits=len(whole.hits), found=whole.found)
        if request.conversation_id is not None:
            await _record(resources, principal, collections, whole, len(turns) + 1)
        yield event.model_copy(update={"answer": whole})


def _earlier(turn: ConversationTurn) -> PreviousTurn:
    said = (place.rpartition("#") for place in turn.said)
    return PreviousTurn(turn.question, turn.searched, tuple((document, int(start)) for document, _, start in said))


async def ask_once(resources: Resources[RagSettings], principal: Principal, places: Sequence[SearchScope], request: AskRequest) -> Answer:
    """Answer a question like `ask`, and return the whole answer."""
    found: Answer | None = None
    async for event in await ask(resources, principal, places, request):
        found = event.answer or found
    assert found is not None
    return found


def answer_tools(resources: Resources[RagSettings]) -> AnswerTools:
    """The search and the configured chat model of this host."""
    model = resources.settings.answer_model
    return AnswerTools(tools_of(resources), resources.models.chat(model) if model else None)


async def read_conversation(resources: Resources[RagSettings], principal: Principal, conversation_id: str) -> list[ConversationTurn]:
    """The turns of one of the caller's own conversations; empty if it does not exist or belongs to somebody else."""
    query = resources.store.query(ConversationTurn.in_conversation, owner=principal.owner, conversation_id=conversation_id, consistent=True)
    return [turn async for turn in query]


async def forget_conversation(resources: Resources[RagSettings], principal: Principal, conversation_id: str) -> int:
    """Remove a conversation of the caller and return its number of turns."""
    turns = await read_conversation(resources, principal, conversation_id)
    for turn in turns:
        await resources.store.delete(turn.key)
    return len(turns)


async def _record(
    resources: Resources[RagSettings], principal: Principal, collections: Sequence[Collection], whole: Answer, number: int
) -> None:
    cited = {number for sentence in (*whole.sentences, *whole.unverified) for number in sentence.citations}
    hits = [whole.hits[number - 1] for number in sorted(cited)]
    turn = ConversationTurn(
        owner=principal.owner,
        conversation_id=whole.conversation_id or "",
        turn=number,
        question=whole.question,
        searched=whole.searched,
        found=whole.found,
        places=[f"{collection.repository_id}/{collection.collection_id}" for collection in collections],
        citations=[f"{hit.document_id}#{hit.generation}#{hit.ordinal}" for hit in hits],
        said=[f"{document}#{start}" for document, start in PreviousTurn.of(whole).said],
        expires_at=resources.store.setup.now() + timedelta(days=KEPT_DAYS),
    )
    await resources.store.put(turn)
