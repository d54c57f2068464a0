"""From a question to an answer: search, then extract or generate, then check."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from gateleg.ai import AiError
from gateleg.apps.rag.answering.answers import Answer, AnswerEvent, AnswerSentence
from gateleg.apps.rag.answering.candidates import candidates_of, context_of
from gateleg.apps.rag.answering.extracting import choose, judge, judge_again, open_words, shortlist
from gateleg.apps.rag.answering.followups import LOOKED_BACK, PreviousTurn, complete, needs_earlier
from gateleg.apps.rag.answering.generating import Checker
from gateleg.apps.rag.answering.prompting import answer_messages, rewrite_messages
from gateleg.apps.rag.answering.questions import parse_question
from gateleg.apps.rag.answering.relevance import is_mentioned
from gateleg.apps.rag.searching.requests import MAX_QUERY_CHARACTERS, Mode, SearchRequest, check_query_text
from gateleg.apps.rag.searching.search import SearchTools, search

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.ai import AsyncChat
    from gateleg.apps.rag.searching.results import SearchHit, SearchResult
    from gateleg.apps.rag.tables import Collection

_log = logging.getLogger(__name__)
#: Tokens of a written answer, and of a rewritten question.
_ANSWER_TOKENS, _QUESTION_TOKENS = 600, 80
#: Words that glossaries have around what they define.
_DEFINING = "word meaning definition"
#: Passages that are looked through for a definition, and for steps.
_FURTHER = 20
#: Hits whose neighbours are looked through for steps, and the part of a hit's score that its neighbours have.
_BESIDE, _PART = 5, 0.9
#: What is known of a hit and not of its neighbours.
_UNKNOWN: dict[str, Any] = {
    **dict.fromkeys(("similarity", "keyword", "rerank", "snippet", "boxes", "why")),
    **{name: [] for name in ("highlights", "page_starts", "before", "after")},
}


class AskRequest(BaseModel):
    """A question, and where to look for the answer."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")

    question: str = Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)
    top_k: int = Field(default=10, ge=1, le=20, description="passages that the answer may use")
    search_mode: Mode = "hybrid"
    filter: dict[str, Any] | None = Field(default=None, description="a metadata filter")
    document_ids: list[str] | None = Field(default=None, max_length=1_000, description="use these documents only")
    conversation_id: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9_-]{1,64}$", description="a conversation that this question goes on with, or begins"
    )

    @field_validator("question")
    @classmethod
    def _says_something(cls, question: str) -> str:
        return check_query_text(question)


@dataclass(frozen=True, slots=True)
class AnswerTools:
    """What answers use."""

    search: SearchTools
    #: the model that writes answers; without one, they are made of sentences of the documents
    chat: AsyncChat | None = None


async def answer(
    tools: AnswerTools, collections: Sequence[Collection], request: AskRequest, earlier: Sequence[PreviousTurn] = ()
) -> AsyncIterator[AnswerEvent]:
    """An answer as it comes: the passages, each sentence once it is checked, and the whole. `earlier` are the turns before."""
    searched = await _searched(tools, request.question, earlier)
    wanted = SearchRequest(
        query=searched,
        top_k=request.top_k,
        search_mode=request.search_mode,
        filter=request.filter,
        document_ids=request.document_ids,
    )
    asked_for = parse_question(searched).wanted
    if asked_for == "steps" and tools.chat is None:
        wanted = wanted.model_copy(update={"top_k": max(wanted.top_k, _FURTHER), "neighbours": 1})
    result = await search(tools.search, collections, wanted)
    if asked_for == "steps" and tools.chat is None:
        result = _with_neighbours(result)
    if asked_for == "definition":
        result = await _with_definitions(tools.search, collections, wanted, result)
    yield AnswerEvent(kind="passages", hits=result.hits)
    base = Answer(question=request.question, searched=searched, found=False, hits=result.hits, note=result.note)
    # A model is not asked about what no passage names.
    if tools.chat is not None and is_mentioned(parse_question(searched), (f"{context_of(hit)} {hit.text}" for hit in result.hits)):
        events = _written(tools.chat, base)
        async for event in events:
            yield event
            if event.answer is not None:
                return
        base = base.model_copy(
            update={"note": f"The model {tools.chat.model} did not answer. The answer is made of sentences of the documents."}
        )
    chosen = await _extract(tools.search, collections, searched, result.hits, earlier)
    for one in chosen:
        yield AnswerEvent(kind="sentence", sentence=one)
    yield AnswerEvent(kind="answer", answer=base.model_copy(update={"sentences": chosen, "found": bool(chosen)}))


async def _with_definitions(
    tools: SearchTools, collections: Sequence[Collection], wanted: SearchRequest, found: SearchResult
) -> SearchResult:
    """The hits of a search, and behind them those with the words that definitions come with: what a thing is called is said everywhere."""
    further = await search(tools, collections, wanted.model_copy(update={"query": f"{wanted.query} {_DEFINING}", "top_k": _FURTHER}))
    known = {(hit.document_id, hit.ordinal) for hit in found.hits}
    new = [hit for hit in further.hits if (hit.document_id, hit.ordinal) not in known]
    return found.model_copy(update={"hits": [*found.hits, *new]})


def _with_neighbours(found: SearchResult) -> SearchResult:
    """The hits of a search, and behind them the chunks beside the best ones: the code of a section often lies in its next chunk."""
    known = {(hit.document_id, hit.ordinal) for hit in found.hits}
    hits = [hit.model_copy(update={"before": [], "after": []}) for hit in found.hits]
    for hit in found.hits[:_BESIDE]:
        for one in (*hit.before, *hit.after):
            if (hit.document_id, one.ordinal) not in known:
                known.add((hit.document_id, one.ordinal))
                own = one.model_dump(include={"ordinal", "text", "page", "start", "end", "heading"})
                hits.append(hit.model_copy(update={**_UNKNOWN, **own, "score": _PART * hit.score}))
    return found.model_copy(update={"hits": hits})


async def _written(chat: AsyncChat, base: Answer) -> AsyncIterator[AnswerEvent]:
    """What a model writes, checked; nothing if it fails before the first sentence."""
    checker = Checker(base.hits)
    written: list[AnswerSentence] = []
    note = base.note
    try:
        async for sentence in _generate(chat, base.searched, checker):
            written.append(sentence)
            yield AnswerEvent(kind="sentence", sentence=sentence)
    except AiError as error:
        if not written:
            _log.warning("%s did not answer: %s", chat.model, error)
            return
        note = f"The answer ends early: {error.message}"
    update = {
        "sentences": written,
        "found": bool(written),
        "way": "generated",
        "model": chat.model,
        "dropped": checker.dropped,
        "note": note,
    }
    yield AnswerEvent(kind="answer", answer=base.model_copy(update=update))


async def _searched(tools: AnswerTools, question: str, earlier: Sequence[PreviousTurn]) -> str:
    """What to search for: a follow-up question, completed by those before it."""
    if not earlier or not needs_earlier(question):
        return question
    if tools.chat is not None:
        try:
            asked = rewrite_messages(question, [one.question for one in earlier[-LOOKED_BACK:]])
            reply = await tools.chat.reply(asked, max_tokens=_QUESTION_TOKENS)
        except AiError:
            return complete(question, earlier)
        rewritten = " ".join(reply.text.split())
        if 0 < len(rewritten) <= 400:
            return rewritten
    return complete(question, earlier)


async def _generate(chat: AsyncChat, question: str, checker: Checker) -> AsyncIterator[AnswerSentence]:
    async for delta in chat.stream(answer_messages(question, checker.hits), max_tokens=_ANSWER_TOKENS):
        if delta.text:
            for sentence in checker.add(delta.text):
                yield sentence
    for sentence in checker.finish():
        yield sentence


async def _extract(
    tools: SearchTools, collections: Sequence[Collection], text: str, hits: Sequence[SearchHit], earlier: Sequence[PreviousTurn]
) -> list[AnswerSentence]:
    """Sentences, rows and lines of hits that answer a question."""
    question = parse_question(text)
    candidates = shortlist(question, candidates_of(hits))
    if not candidates:
        return []
    try:
        model = tools.models.embeddings(collections[0].embedding_model)
        own = (await model.embed([text], purpose="query"))[0]
        judged = judge(question, candidates, own, await model.embed([one.spoken for one in candidates]))
        missing, held = open_words(judged)
        if missing and held:
            vectors = await model.embed([*missing, *held])
            near = vectors[: len(missing)] @ vectors[len(missing) :].T
            pairs = {(one, other): float(near[row, column]) for row, one in enumerate(missing) for column, other in enumerate(held)}
            judged = judge_again(question, judged, pairs)
    except AiError:
        judged = judge(question, candidates)
    return choose(question, judged, earlier)
