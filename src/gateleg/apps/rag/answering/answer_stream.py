"""Answer a question as a stream of events: search, then extract sentences from passages, or generate sentences and check them."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic.alias_generators import to_camel

from gateleg.ai import AiError
from gateleg.apps.rag.answering.answers import Answer, AnswerEvent, AnswerSentence
from gateleg.apps.rag.answering.candidates import candidates_of, context_of
from gateleg.apps.rag.answering.extraction import rescore_candidates, score_candidates, select_sentences, shortlist, unmatched_words
from gateleg.apps.rag.answering.followups import MAX_PREVIOUS_TURNS, PreviousTurn, is_followup, resolve_followup
from gateleg.apps.rag.answering.prompts import answer_messages, rewrite_messages
from gateleg.apps.rag.answering.questions import parse_question
from gateleg.apps.rag.answering.relevance import is_mentioned
from gateleg.apps.rag.answering.sentence_checker import Checker
from gateleg.apps.rag.searching.requests import MAX_QUERY_CHARACTERS, Mode, SearchRequest, check_query_text
from gateleg.apps.rag.searching.search import SearchTools, search

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from gateleg.ai import AsyncChat
    from gateleg.apps.rag.searching.results import SearchHit, SearchResult
    from gateleg.apps.rag.tables import Collection

_log = logging.getLogger(__name__)
#: Maximum tokens of a generated answer, and of a rewritten question.
_ANSWER_TOKENS, _QUESTION_TOKENS = 600, 80
#: Words that occur near definitions in glossaries.
_DEFINITION_WORDS = "word meaning definition"
#: Passages to retrieve for definitions and how-to questions.
_MORE_PASSAGES = 20
#: For how-to questions: the number of hits whose neighbouring chunks are added, and their score as a fraction of the hit's.
_HITS_WITH_NEIGHBOURS, _NEIGHBOUR_SCORE = 5, 0.9
#: Fields of a hit that do not apply to its neighbours.
_UNKNOWN: dict[str, Any] = {
    **dict.fromkeys(("similarity", "keyword", "rerank", "snippet", "boxes", "why")),
    **{name: [] for name in ("highlights", "page_starts", "before", "after")},
}


class AskRequest(BaseModel):
    """A question, with conditions on the passages to use."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True, extra="forbid")

    question: str = Field(min_length=1, max_length=MAX_QUERY_CHARACTERS)
    top_k: int = Field(default=10, ge=1, le=20, description="maximum number of passages to use for the answer")
    search_mode: Mode = "hybrid"
    filter: dict[str, Any] | None = Field(default=None, description="a metadata filter")
    document_ids: list[str] | None = Field(default=None, max_length=1_000, description="use only these documents")
    conversation_id: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9_-]{1,64}$", description="the conversation that this question continues or starts"
    )

    @field_validator("question")
    @classmethod
    def _says_something(cls, question: str) -> str:
        return check_query_text(question)


@dataclass(frozen=True, slots=True)
class AnswerTools:
    """The search and the chat model that answers use."""

    search: SearchTools
    #: the model that writes answers; if None, answers consist of sentences from the documents
    chat: AsyncChat | None = None


async def answer(
    tools: AnswerTools, collections: Sequence[Collection], request: AskRequest, earlier: Sequence[PreviousTurn] = ()
) -> AsyncIterator[AnswerEvent]:
    """Stream an answer: first the passages, then each sentence, then the whole answer. `earlier` are the previous turns."""
    searched = await _search_text(tools, request.question, earlier)
    search_request = SearchRequest(
        query=searched,
        top_k=request.top_k,
        search_mode=request.search_mode,
        filter=request.filter,
        document_ids=request.document_ids,
    )
    answer_type = parse_question(searched).answer_type
    if answer_type == "steps" and tools.chat is None:
        search_request = search_request.model_copy(update={"top_k": max(search_request.top_k, _MORE_PASSAGES), "neighbours": 1})
    result = await search(tools.search, collections, search_request)
    if answer_type == "steps" and tools.chat is None:
        result = _with_neighbours(result)
    if answer_type == "definition":
        result = await _with_definitions(tools.search, collections, search_request, result)
    yield AnswerEvent(kind="passages", hits=result.hits)
    base = Answer(question=request.question, searched=searched, found=False, hits=result.hits, note=result.note)
    # Do not call the model if no passage mentions the codes and names of the question.
    if tools.chat is not None and is_mentioned(parse_question(searched), (f"{context_of(hit)} {hit.text}" for hit in result.hits)):
        events = _generate_events(tools.chat, base)
        async for event in events:
            yield event
            if event.answer is not None:
                return
        base = base.model_copy(
            update={"note": f"The model {tools.chat.model} did not respond. The answer consists of sentences from the documents."}
        )
    chosen = await _extract(tools.search, collections, searched, result.hits, earlier)
    for one in chosen:
        yield AnswerEvent(kind="sentence", sentence=one)
    yield AnswerEvent(kind="answer", answer=base.model_copy(update={"sentences": chosen, "found": bool(chosen)}))


async def _with_definitions(
    tools: SearchTools, collections: Sequence[Collection], search_request: SearchRequest, found: SearchResult
) -> SearchResult:
    """Append hits for the question plus the words of definitions: a term occurs in many passages, but only a few define it."""
    further = await search(
        tools,
        collections,
        search_request.model_copy(update={"query": f"{search_request.query} {_DEFINITION_WORDS}", "top_k": _MORE_PASSAGES}),
    )
    known = {(hit.document_id, hit.ordinal) for hit in found.hits}
    new = [hit for hit in further.hits if (hit.document_id, hit.ordinal) not in known]
    return found.model_copy(update={"hits": [*found.hits, *new]})


def _with_neighbours(found: SearchResult) -> SearchResult:
    """Append the chunks next to the best hits: the code of a section is often in its next chunk."""
    known = {(hit.document_id, hit.ordinal) for hit in found.hits}
    hits = [hit.model_copy(update={"before": [], "after": []}) for hit in found.hits]
    for hit in found.hits[:_HITS_WITH_NEIGHBOURS]:
        for one in (*hit.before, *hit.after):
            if (hit.document_id, one.ordinal) not in known:
                known.add((hit.document_id, one.ordinal))
                own = one.model_dump(include={"ordinal", "text", "page", "start", "end", "heading"})
                hits.append(hit.model_copy(update={**_UNKNOWN, **own, "score": _NEIGHBOUR_SCORE * hit.score}))
    return found.model_copy(update={"hits": hits})


async def _generate_events(chat: AsyncChat, base: Answer) -> AsyncIterator[AnswerEvent]:
    """Stream the sentences of a model's answer, checked or unverified; yield nothing if the model fails before the first one."""
    checker = Checker(base.hits)
    written: list[AnswerSentence] = []
    note = base.note
    try:
        async for sentence in _generate(chat, base.searched, checker):
            written.append(sentence)
            yield AnswerEvent(kind="sentence", sentence=sentence)
    except AiError as error:
        if not written:
            _log.warning("%s did not respond: %s", chat.model, error)
            return
        note = f"The answer ends early: {error.message}"
    if checker.dropped:
        left_out = f"{checker.dropped} sentences that address a model were left out."
        note = f"{note} {left_out}" if note else left_out
    update = {
        "sentences": [sentence for sentence in written if sentence.checked],
        "unverified": [sentence for sentence in written if not sentence.checked],
        "found": bool(written),
        "way": "generated",
        "model": chat.model,
        "dropped": checker.dropped,
        "note": note,
    }
    yield AnswerEvent(kind="answer", answer=base.model_copy(update=update))


async def _search_text(tools: AnswerTools, question: str, earlier: Sequence[PreviousTurn]) -> str:
    """The text to search for: the question, or a follow-up question rewritten to stand alone."""
    if not earlier or not is_followup(question):
        return question
    if tools.chat is not None:
        try:
            asked = rewrite_messages(question, [one.question for one in earlier[-MAX_PREVIOUS_TURNS:]])
            reply = await tools.chat.reply(asked, max_tokens=_QUESTION_TOKENS)
        except AiError:
            return resolve_followup(question, earlier)
        rewritten = " ".join(reply.text.split())
        if 0 < len(rewritten) <= 400:
            return rewritten
    return resolve_followup(question, earlier)


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
    """Extract sentences, rows and lines of hits that answer a question."""
    question = parse_question(text)
    candidates = shortlist(question, candidates_of(hits))
    if not candidates:
        return []
    try:
        model = tools.models.embeddings(collections[0].embedding_model)
        own = (await model.embed([text], purpose="query"))[0]
        scored = score_candidates(question, candidates, own, await model.embed([one.text_to_embed for one in candidates]))
        missing, held = unmatched_words(scored)
        if missing and held:
            vectors = await model.embed([*missing, *held])
            near = vectors[: len(missing)] @ vectors[len(missing) :].T
            pairs = {(one, other): float(near[row, column]) for row, one in enumerate(missing) for column, other in enumerate(held)}
            scored = rescore_candidates(question, scored, pairs)
    except AiError:
        scored = score_candidates(question, candidates)
    return select_sentences(question, scored, earlier)
