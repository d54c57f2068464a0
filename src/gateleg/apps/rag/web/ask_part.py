"""The Ask tab of a collection: answers arrive sentence by sentence, each with the passages that support it."""

from __future__ import annotations

from secrets import token_urlsafe
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.answer_stream import AskRequest
from gateleg.apps.rag.answering.answers import NOT_FOUND
from gateleg.apps.rag.answering.service import ask
from gateleg.apps.rag.searching.service import SearchScope
from gateleg.apps.rag.web.page_paths import passage_path
from gateleg.web.console.components import Field, button, tag, trouble

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.answering.answers import Answer, AnswerSentence
    from gateleg.apps.rag.searching.results import SearchHit
    from gateleg.apps.rag.web.visit import Visit
    from gateleg.web.console.components import Tag


#: Characters of a passage that is shown because no sentence answers the question.
_SHOWN = 400


def ask_part(visit: Visit) -> None:
    """Show a form for questions. While the page is open, they belong to one conversation."""
    conversation = token_urlsafe(16)
    answers = tag("div", classes="stack gap-2", aria_live="polite")
    with tag("div", classes="line gap-1 rag-search"):
        question = Field("Ask the documents", "", placeholder="A question about the documents", whole=True, on_enter=lambda: send())
        button("Ask", lambda: send(), icon="question_answer", look="first")

    async def send() -> None:
        asked = question.text.strip()
        if not asked:
            return
        with answers, tag("article", classes="card stack gap-1"):
            tag("h3", asked, dir="auto")
            words = tag("p", "", "rag-answer rag-text", dir="auto")
            sources = tag("ul", classes="stack gap-1 meta rag-sources")
        question.set("")
        collection = visit.opened.collection
        place = SearchScope(collection.repository_id, collection.collection_id)
        try:
            request = AskRequest(question=asked, conversation_id=conversation)
            hits: Sequence[SearchHit] = ()
            async for event in await ask(visit.resources, visit.view.principal, [place], request):
                hits = event.hits if event.hits is not None else hits
                if event.sentence is not None:
                    _sentence(words, event.sentence, hits)
                if event.answer is not None:
                    _ending(words, sources, event.answer)
        except Exception as error:
            with answers:
                trouble(error)


def _sentence(words: Tag, one: AnswerSentence, hits: Sequence[SearchHit]) -> None:
    with words:
        if not one.checked:
            tag("span", "not verified", "chip", title="A model wrote this. No passage says it word for word, so it may be wrong.")
        tag("span", f"{one.text} ")
        for number in one.citations:
            if 0 < number <= len(hits):
                tag("a", f"[{number}]", "link rag-cite", href=_passage(hits[number - 1], one), title=hits[number - 1].citation)
        tag("span", " ")


def _ending(words: Tag, sources: Tag, whole: Answer) -> None:
    """Show the sources; and the nearest passages, if no sentence answers the question."""
    if not whole.sentences:
        with words:
            tag("span", f"{NOT_FOUND} " + ("The nearest passages are below." if whole.nearest else "No passage is near to it, either."))
    used = {number for one in (*whole.sentences, *whole.unverified) for number in one.citations}
    if whole.nearest:
        _nearest(sources, [(number, whole.hits[number - 1]) for number in whole.nearest])
        used -= set(whole.nearest)
    with sources:
        for number in sorted(used):
            hit = whole.hits[number - 1]
            with tag("li", classes="line gap-1"):
                tag("span", f"[{number}]", "num")
                tag("a", hit.citation, "link", href=_passage(hit))
                if hit.heading:
                    tag("span", hit.heading, dir="auto")
        if whole.way == "generated":
            tag("li", f"Written by {whole.model}. Sentences without a mark are in the cited passages word for word.")
        elif whole.sentences:
            tag("li", "Sentences from the documents.")
        if whole.note:
            tag("li", whole.note)


def _nearest(sources: Tag, passages: Sequence[tuple[int, SearchHit]]) -> None:
    with sources:
        for number, hit in passages:
            with tag("li", classes="stack"):
                with tag("div", classes="line gap-1"):
                    tag("span", f"[{number}]", "num")
                    tag("a", hit.citation, "link", href=_passage(hit))
                tag("blockquote", hit.text if len(hit.text) <= _SHOWN else f"{hit.text[:_SHOWN]}...", "rag-text", dir="auto")


def _passage(hit: SearchHit, sentence: AnswerSentence | None = None) -> str:
    """The address of a passage. If the sentence is from the passage, it is marked there."""
    span = None
    if sentence is not None and sentence.start is not None and sentence.end is not None and hit.start <= sentence.start < hit.end:
        span = (sentence.start, sentence.end)
    return passage_path(hit.repository_id, hit.document_id, hit.ordinal, span)
