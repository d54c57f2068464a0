from dataclasses import replace

import pytest

from gateleg.apps.delphi.reports.fact_check import check
from gateleg.apps.delphi.reports.findings import Count, Findings, Statement
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.sections import Clause, Paragraph, Section, Sentence
from tests.apps.delphi.told import empty, findings


def _found() -> Findings:
    """Comment 1: 80 of 100 agree; 90 % of Group A agree, 75 % of Group B disagree. Comment 2 is nearly everybody's."""
    one = Statement(1, "Buses should run at night.", Count(80, 15, 5), (Count(72, 4, 4), Count(3, 15, 2)), topics=("layer0_0", "layer1_0"))
    two = Statement(2, "I have 3 cats.", Count(95, 3, 2), (Count(76, 2, 2), Count(19, 1, 0)), topics=("layer0_1", "layer1_0"))
    three = Statement(3, "Few have seen this.", Count(3, 1, 0), (Count(3, 1, 0), Count()), topics=("layer0_1", "layer1_0"))
    base = findings()
    return replace(base, statements={1: one, 2: two, 3: three}, groups=base.groups[:2])


def _section(text: str, *citations: int, identifier: str = "overview") -> Section:
    clause = Clause(text=text, citations=citations)
    return Section(id=identifier, title="", paragraphs=(Paragraph(id="p", sentences=(Sentence(clauses=(clause,)),)),))


def _kinds(text: str, *citations: int, identifier: str = "overview") -> list[str]:
    return [fault.kind for fault in check(_section(text, *citations, identifier=identifier), _found())]


@pytest.mark.parametrize(
    ("text", "citations"),
    [
        ("80 % of 100 voters agree: “Buses should run at night.”", (1,)),
        ("90 % of 80 in Group A agree, 75 % of 20 in Group B disagree.", (1,)),
        ("90 % of 80 in Group A agree, elsewhere 15 % of 20 agree: “Buses should … at night.”", (1,)),
        ("Comment 2 says “I have 3 cats.”", (2,)),
        ("In every group at least 95 % agree (the least, of 80 votes, in Group A).", (2,)),
        ("3 agree with it and 1 disagrees.", (3,)),
        ("Group A supports this.", (1,)),
        ("Group B opposes comment 1.", (1,)),
        ("Only 15 percent of 100 voters disagree, 5 % pass.", (1,)),
        ("Nothing that can be wrong.", ()),
    ],
)
def test_what_is_true_has_no_fault(text: str, citations: tuple[int, ...]) -> None:
    assert _kinds(text, *citations) == []


@pytest.mark.parametrize(
    ("text", "citations", "kind"),
    [
        ("People like buses.", (77,), "unknown-comment"),
        ("80 % disagree.", (1,), "wrong-number"),
        ("82 % of voters agree.", (1,), "wrong-number"),
        ("90 % of Group B agree.", (1,), "wrong-number"),
        ("81 of 100 voters agree.", (1,), "wrong-number"),
        ("12,345 people took part.", (), "wrong-number"),
        ("In every group at least 90 % agree.", (1,), "wrong-number"),
        ("In every group at least 90 % agree (the least, of 80 votes, in Group A).", (1,), "wrong-number"),
        ("75 % of 4 voters agree.", (3,), "too-few-votes"),
        ("75 % of 4 in Group A agree.", (3,), "too-few-votes"),
        ("80 % of voters agree.", (1,), "share-without-count"),
        ("90 % of 20 in Group A agree.", (1,), "share-without-count"),
        ("Most participants disagree with that.", (2,), "wrong-side"),
        ("Every group agrees.", (1,), "wrong-side"),
        ("Group B supports it.", (1,), "wrong-side"),
        ("They say “Buses should never run.”", (1,), "misquoted"),
        ("They say “I have 3 cats.”", (1,), "misquoted"),
        ("Comment 2 is liked.", (1,), "uncited-comment"),
        ("Group X is different.", (), "unknown-group"),
    ],
)
def test_what_is_not_true_is_a_fault(text: str, citations: tuple[int, ...], kind: str) -> None:
    assert kind in _kinds(text, *citations)


def test_a_comment_of_another_topic_is_a_fault() -> None:
    found = findings()
    topic, other = found.topics[0][0], found.topics[0][1]
    member, stranger = (found.of_topic(one)[0].comment_id for one in (topic, other))
    faults = check(_section("They speak of this.", member, stranger, identifier=topic.key), found)
    assert [(fault.kind, str(stranger) in fault.why) for fault in faults] == [("foreign-comment", True)]


def test_a_comment_that_moderation_took_out_cannot_be_cited() -> None:
    assert "unknown-comment" in [fault.kind for fault in check(_section("See this.", 10**6), findings())]


def test_planted_agreement_is_never_told_the_other_way_round() -> None:
    found = findings()
    for statement in found.bridging():
        side = [fault.kind for fault in check(_section("Most participants disagree.", statement.comment_id), found)]
        assert side == ["wrong-side"]
        share = round(100 * statement.everybody.share("agree"))
        assert "wrong-number" in [fault.kind for fault in check(_section(f"{share} % disagree.", statement.comment_id), found)]


def test_a_written_section_has_a_fault_once_a_number_is_changed() -> None:
    found = findings()
    changed = 0
    for section in write_sections(found):
        for clause in section.clauses():
            if clause.citations and "% " in clause.text.split("“")[0]:
                number, rest = clause.text.split("% ", 1)
                head, _, digits = number.rpartition(" ")
                value = int(digits)
                wrong = f"{head} {value - 30 if value > 50 else value + 30}% {rest}".strip()
                assert check(_section(wrong, *clause.citations, identifier=section.id), found), wrong
                changed += 1
    assert changed > 10


def test_empty_findings_are_checked() -> None:
    assert [fault for section in write_sections(empty()) for fault in check(section, empty())] == []
