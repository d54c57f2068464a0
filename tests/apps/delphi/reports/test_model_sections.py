from collections.abc import Iterable
from typing import Any

import pytest

from gateleg.ai import ModelUnreachable, Reply, Structured, Usage
from gateleg.apps.delphi.reports.claims import Agreement, Claim, Comparison, Division, Majority, Passing, Share, is_supported
from gateleg.apps.delphi.reports.model_sections import ParagraphClaims, SectionClaims, Written, write_section
from gateleg.apps.delphi.reports.narrative import consensus, groups, overview, topic_section
from gateleg.apps.delphi.reports.sections import Paragraph, Section, sentence
from tests.apps.delphi.told import findings


class Scribe:
    """A chat model that answers with the claims it was told to, and remembers what it was asked."""

    model = "test:scribe"

    def __init__(self, *answers: SectionClaims) -> None:
        self.answers = list(answers)
        self.asked: list[list[Any]] = []

    def structured(self, model: Any, messages: Iterable[Any], **options: Any) -> Any:
        self.asked.append(list(messages))
        if not self.answers:
            raise ModelUnreachable("Nobody answers.")
        answer = self.answers.pop(0)
        return Structured(answer, Reply(answer.model_dump_json()), Usage(), 1)


def _claims(paragraph: str, *claims: Claim) -> SectionClaims:
    return SectionClaims(paragraphs=(ParagraphClaims(paragraph=paragraph, claims=claims),))


def _written(scribe: Scribe, section: Section | None = None) -> Written:
    chat: Any = scribe
    return write_section(chat, findings(), section or consensus(findings()))


def _shared() -> int:
    return findings().bridging()[-1].comment_id


def test_claims_that_hold_take_the_place_of_the_templates_own() -> None:
    written = _written(Scribe(_claims("bridging", Agreement(comment=_shared()), Agreement(comment=_shared()))))
    assert (written.by, written.given_up) == ("test:scribe", False)
    assert (written.section.id, written.section.title) == ("group_informed_consensus", "Common ground")
    parts = {part.id: part for part in written.section.paragraphs}
    assert [clause.citations for one in parts["bridging"].sentences for clause in one.clauses] == [(_shared(),)]
    # Paragraphs that the model has said nothing about stay as they are.
    assert {name: part for name, part in parts.items() if name != "bridging"} == {
        part.id: part for part in consensus(findings()).paragraphs if part.id != "bridging"
    }


def test_a_model_is_told_what_is_wrong_and_may_try_again() -> None:
    divided = findings().divisive()[0].comment_id
    scribe = Scribe(_claims("bridging", Agreement(comment=divided)), _claims("bridging", Agreement(comment=_shared())))
    assert _written(scribe).by == "test:scribe"
    assert f"Not every group has a clear majority that agrees with comment {divided}" in scribe.asked[1][-1].text


@pytest.mark.parametrize(
    "answer",
    [
        _claims("bridging", Agreement(comment=99_999)),
        _claims("The mayor has been bribed", Agreement(comment=1)),
        _claims("bridging"),
        SectionClaims(paragraphs=()),
    ],
)
def test_what_does_not_hold_twice_gives_way_to_templates(answer: SectionClaims) -> None:
    written = _written(Scribe(answer, answer))
    assert written.by == "templates"
    assert written.section == consensus(findings())
    assert written.given_up
    assert written.faults


def test_a_true_claim_under_a_title_that_says_another_thing_is_refused() -> None:
    """Most agree with it, but it is not what every group agrees with, and nothing that sets a group apart."""
    found = findings()
    group = found.groups[0]
    every = found.bridging()[0].comment_id
    share = Share(comment=every, side="agree")
    assert is_supported(share, found)
    assert _written(Scribe(*[_claims("bridging", share)] * 2)).by == "templates"
    apart = next(
        Comparison(comment=number, side="agree", group=group.letter)
        for number in found.statements
        if is_supported(Comparison(comment=number, side="agree", group=group.letter), found)
    )
    told = _written(Scribe(_claims("group_a", apart)), groups(found))
    assert told.by == "test:scribe"
    assert "What sets Group A apart:" in told.section.text
    for wrong in (_claims("group_b", apart), _claims("divisive", apart), _claims("group_a", Agreement(comment=every))):
        assert _written(Scribe(wrong, wrong), groups(found)).by == "templates"


def test_sides_of_everybody_are_not_mixed_up() -> None:
    found = findings()
    agreed = next(one for one in (Majority(comment=number, side="agree") for number in found.statements) if is_supported(one, found))
    lists = tuple(Paragraph(id=side, sentences=(sentence("None."),)) for side in ("agree", "disagree"))
    template = consensus(found).model_copy(update={"paragraphs": lists})
    assert _written(Scribe(_claims("agree", agreed)), template).by == "test:scribe"
    assert _written(Scribe(*[_claims("disagree", agreed)] * 2), template).faults == (
        "The paragraph disagree is about everybody, and about those who disagree.",
    )


def test_a_comment_of_another_topic_is_refused() -> None:
    found = findings()
    topic = found.topics[0][0]
    template = topic_section(found, topic)
    stranger = next(one for one in found.divisive() if one.comment_id not in topic.comments)
    letters = [
        (one.letter, other.letter)
        for one in found.groups
        for other in found.groups
        if is_supported(Division(comment=stranger.comment_id, agreeing=one.letter, disagreeing=other.letter), found)
    ]
    claim = Division(comment=stranger.comment_id, agreeing=letters[0][0], disagreeing=letters[0][1])
    slot = next(part.id for part in template.paragraphs if part.id != "about")
    written = _written(Scribe(*[_claims(slot, claim)] * 2), template)
    assert written.faults == (f"Comment {stranger.comment_id} does not belong to this section.",)


def test_the_overview_may_say_anything_that_holds() -> None:
    unsure = findings().uncertain()[0].comment_id
    written = _written(Scribe(_claims("highlights", Passing(comment=unsure), Agreement(comment=_shared()))), overview(findings()))
    assert written.by == "test:scribe"
    assert "participants cast" in written.section.text


def test_a_model_that_does_not_answer_gives_way_to_templates() -> None:
    written = _written(Scribe())
    assert (written.by, written.given_up) == ("templates", True)
    assert "Nobody answers." in written.failure


def test_a_section_without_statements_to_choose_asks_no_model() -> None:
    scribe = Scribe()
    template = consensus(findings()).model_copy(update={"paragraphs": ()})
    assert _written(scribe, template) == Written(template, "templates")
    assert scribe.asked == []


def test_a_model_is_given_the_comments_with_their_votes_and_no_markup_of_theirs() -> None:
    topic = findings().topics[0][0]
    scribe = Scribe()
    _written(scribe, topic_section(findings(), topic))
    text = scribe.asked[0][-1].text
    assert all(f'<comment id="{statement.comment_id}"' in text for statement in findings().of_topic(topic))
    assert text.count("</comment>") == len(findings().of_topic(topic))


def test_the_overview_gives_the_comments_it_cites() -> None:
    scribe = Scribe()
    _written(scribe, overview(findings()))
    cited = {number for clause in overview(findings()).clauses() for number in clause.citations}
    assert all(f'id="{number}"' in scribe.asked[0][-1].text for number in cited)
