"""What a report says about comments that may describe their authors, and what it keeps to itself."""

from dataclasses import replace

import numpy as np

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.stage import Opinions, analyse
from gateleg.apps.delphi.reports.artifacts import data_files, make_artifacts
from gateleg.apps.delphi.reports.findings import Findings, find
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.self_descriptions import LEAST_DESCRIBED, sentences_of, with_alternative, with_suggestions
from gateleg.apps.delphi.topics.self_descriptions import Suggestion

#: Ten comments that split people by their age, and ten opinions that everybody has at random.
PLACES, OPINIONS = tuple(range(10)), tuple(range(10, 20))


def crowd(people: int = 60, small: int | None = None) -> Conversation:
    """People whom only their age divides: half of them are young, or a few (`small`)."""
    random = np.random.default_rng(4)
    young = people // 2 if small is None else small
    rows = []
    for person in range(people):
        for comment in (*PLACES, *OPINIONS):
            told = 1 if (person < young) == (comment % 2 == 0) else -1
            certain = 0.98 if comment in PLACES else 0.5
            rows.append((person, comment, told if random.random() < certain else -told, 0))
    comments = [Comment(number, f"I am {number} years old") for number in PLACES]
    comments += [Comment(number, f"Plant trees in street {number}") for number in OPINIONS]
    return Conversation("crowd", Votes.of(rows), comments)


def suggestions(kind: str = "identity") -> tuple[Suggestion, ...]:
    return tuple(Suggestion(number, kind, "I am 34 years old.", 0.3) for number in PLACES)  # type: ignore[arg-type]


def told(conversation: Conversation, kind: str = "identity") -> tuple[Findings, Opinions]:
    opinions = analyse(conversation.votes, conversation.comments)
    findings = with_suggestions(find(conversation, opinions), suggestions(kind))
    return with_alternative(findings, conversation, opinions.config), opinions


def test_a_suggestion_takes_nothing_out() -> None:
    conversation = crowd()
    plain = find(conversation, analyse(conversation.votes, conversation.comments))
    findings, _ = told(conversation)
    assert findings.statements == plain.statements
    assert findings.groups == plain.groups
    assert findings.bridging() == plain.bridging()


def test_the_report_says_what_the_groups_would_be_without_them() -> None:
    conversation = crowd()
    findings, opinions = told(conversation)
    files = make_artifacts(findings, write_sections(findings), data_files(findings, opinions.matrix, conversation.comments))
    assert [group.size for group in findings.groups] == [30, 30]
    assert findings.without is not None
    alone = analyse(conversation.votes, [replace(one, is_meta=one.comment_id in PLACES) for one in conversation.comments])
    assert list(findings.without.sizes) == alone.tallies.group_sizes.tolist() == [60]
    text = files["report.html"].decode()
    assert "10 comments seem to describe their authors rather than an opinion: #0, #1, #2" in text
    assert "nothing was taken out" in text
    assert "Without them there would be no groups, instead of 2 groups (30 and 30 people, stability" in text
    assert all(sentence in files["data/narrative.json"].decode() for sentence in sentences_of(findings))


def test_nothing_is_said_without_suggestions() -> None:
    conversation = crowd()
    findings = with_suggestions(find(conversation, analyse(conversation.votes, conversation.comments)), ())
    assert with_alternative(findings, conversation, analyse(conversation.votes, conversation.comments).config) is findings
    assert sentences_of(findings) == []


def test_a_group_of_few_people_is_not_described_by_age_in_any_file() -> None:
    small = LEAST_DESCRIBED - 2
    conversation = crowd(60, small)
    findings, opinions = told(conversation)
    (place,) = [group.place for group in findings.groups if group.size < LEAST_DESCRIBED]
    group = findings.groups[place]
    assert not {one.comment_id for one in group.representatives} & set(PLACES)
    assert not any(findings.statements[number].groups[place].votes for number in PLACES)
    assert all(findings.statements[number].groups[place].votes for number in OPINIONS)
    for section in write_sections(findings):
        for clause in section.clauses():
            assert not (group.name in clause.text and set(clause.citations) & set(PLACES)), clause.text
    # Large groups are described, and comments about other circumstances describe small ones too.
    assert {one.comment_id for other in findings.groups if other is not group for one in other.representatives} & set(PLACES)
    described, _ = told(conversation, "life")
    assert {one.comment_id for one in described.groups[place].representatives} & set(PLACES)
    rows = data_files(findings, opinions.matrix, conversation.comments)["comment-groups.csv"].splitlines()
    assert len(rows) == 21
