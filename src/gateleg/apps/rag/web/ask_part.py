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
        tag("span", f"{one.text} ")
        for number in one.citations:
            if 0 < number <= len(hits):
                tag("a", f"[{number}]", "link rag-cite", href=_passage(hits[number - 1], one), title=hits[number - 1].citation)
        tag("span", " ")


def _ending(words: Tag, sources: Tag, whole: Answer) -> None:
    """Show the sources, and how many unsupported sentences were dropped."""
    if not whole.found:
        words.set_text(NOT_FOUND)
        return
    used = sorted({number for one in whole.sentences for number in one.citations})
    with sources:
        for number in used:
            hit = whole.hits[number - 1]
            with tag("li", classes="line gap-1"):
                tag("span", f"[{number}]", "num")
                tag("a", hit.citation, "link", href=_passage(hit))
                if hit.heading:
                    tag("span", hit.heading, dir="auto")
        how = "Sentences from the documents" if whole.way == "extracted" else f"Written by {whole.model}, each sentence checked"
        dropped = f"; {whole.dropped} sentences were dropped, because no passage supports them" if whole.dropped else ""
        tag("li", f"{how}{dropped}.")


def _passage(hit: SearchHit, sentence: AnswerSentence | None = None) -> str:
    """The address of a passage. If the sentence is from the passage, it is marked there."""
    span = None
    if sentence is not None and sentence.start is not None and sentence.end is not None and hit.start <= sentence.start < hit.end:
        span = (sentence.start, sentence.end)
    return passage_path(hit.repository_id, hit.document_id, hit.ordinal, span)
