from collections.abc import Iterable
from typing import Any

import pytest

from gateleg.ai import ModelUnreachable, Reply, Structured, Usage
from gateleg.apps.delphi.reports.fact_check import check
from gateleg.apps.delphi.reports.model_sections import Written, write_section
from gateleg.apps.delphi.reports.narrative import consensus, overview, topic_section
from gateleg.apps.delphi.reports.sections import Clause, Paragraph, Section, Sentence
from tests.apps.delphi.told import findings


class Scribe:
    """A chat model that gives the sections it was told to, and remembers what it was asked."""

    model = "test:scribe"

    def __init__(self, *sections: Section) -> None:
        self.sections = list(sections)
        self.asked: list[list[Any]] = []

    def structured(self, model: Any, messages: Iterable[Any], **options: Any) -> Any:
        self.asked.append(list(messages))
        if not self.sections:
            raise ModelUnreachable("Nobody answers.")
        section = self.sections.pop(0)
        return Structured(section, Reply(section.model_dump_json()), Usage(), 1)


def _section(text: str, *citations: int) -> Section:
    clause = Clause(text=text, citations=citations)
    return Section(id="made-up", title="Buy watches", paragraphs=(Paragraph(id="p", sentences=(Sentence(clauses=(clause,)),)),))


def _written(scribe: Scribe) -> Written:
    chat: Any = scribe
    return write_section(chat, findings(), consensus(findings()))


def _true() -> Section:
    return _section("All groups agree on this.", findings().bridging()[0].comment_id)


def test_a_section_that_holds_is_kept_under_its_own_title() -> None:
    written = _written(Scribe(_true()))
    assert written.by == "test:scribe"
    assert (written.section.id, written.section.title) == ("group_informed_consensus", "Common ground")
    assert check(written.section, findings()) == []


def test_a_model_is_told_what_is_wrong_and_may_try_again() -> None:
    number = findings().bridging()[0].comment_id
    scribe = Scribe(_section("Most participants disagree.", number), _true())
    assert _written(scribe).by == "test:scribe"
    assert "wrong-side" in scribe.asked[1][-1].text


@pytest.mark.parametrize("text", ["Most participants disagree.", "99.9 % of 7 people agree.", "They say “buy watches”."])
def test_what_does_not_hold_twice_gives_way_to_templates(text: str) -> None:
    number = findings().bridging()[0].comment_id
    written = _written(Scribe(_section(text, number), _section(text, number)))
    assert written.by == "templates"
    assert written.section == consensus(findings())
    assert written.faults


def test_a_section_without_citations_rests_on_nothing() -> None:
    written = _written(Scribe(_section("Everything is fine."), _section("Everything is fine.")))
    assert written.by == "templates"


def test_a_model_that_does_not_answer_gives_way_to_templates() -> None:
    written = _written(Scribe())
    assert written.by == "templates"
    assert "Nobody answers." in written.failure


def test_a_model_is_given_the_comments_with_their_votes_and_no_markup_of_theirs() -> None:
    topic = findings().topics[0][0]
    scribe = Scribe()
    chat: Any = scribe
    write_section(chat, findings(), topic_section(findings(), topic))
    text = scribe.asked[0][-1].text
    assert all(f'<comment id="{statement.comment_id}"' in text for statement in findings().of_topic(topic))
    assert text.count("</comment>") == len(findings().of_topic(topic))


def test_the_overview_gives_the_comments_it_cites() -> None:
    scribe = Scribe()
    chat: Any = scribe
    write_section(chat, findings(), overview(findings()))
    cited = {number for clause in overview(findings()).clauses() for number in clause.citations}
    assert all(f'id="{number}"' in scribe.asked[0][-1].text for number in cited)
