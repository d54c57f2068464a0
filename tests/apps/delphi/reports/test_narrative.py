from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.stage import analyse
from gateleg.apps.delphi.reports.findings import Count, Statement, find
from gateleg.apps.delphi.reports.narrative import consensus, groups, overview, topic_section, uncertainty, write_sections
from gateleg.apps.delphi.reports.report import write_report
from tests.apps.delphi.real import NAMES, needs_real_conversations, real_conversation
from tests.apps.delphi.told import empty, findings, synthetic

counts = st.builds(Count, st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))


def test_there_is_a_section_for_every_topic_and_four_for_the_whole() -> None:
    identifiers = [section.id for section in write_sections(findings())]
    assert identifiers[:4] == ["overview", "groups", "group_informed_consensus", "uncertainty"]
    assert identifiers[4:] == [topic.key for layer in reversed(findings().topics) for topic in layer]


@given(st.lists(st.tuples(counts, counts, counts, st.text(max_size=40)), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_whatever_the_votes_and_texts_templates_make_no_unfounded_claim(rows: list[tuple[Count, Count, Count, str]]) -> None:
    base = findings()
    statements = {}
    for number, (one, two, three, text) in enumerate(rows):
        everybody = Count(
            one.agrees + two.agrees + three.agrees, one.disagrees + two.disagrees + three.disagrees, one.passes + two.passes + three.passes
        )
        statements[number] = Statement(number, text, everybody, (one, two, three), topics=("layer0_0", "layer1_0"))
    groups = tuple(replace(group, representatives=()) for group in base.groups)
    clear = {side: tuple(one for one in statements if statements[one].everybody.enough) for side in ("agree", "disagree")}
    found = replace(base, statements=statements, agreed=clear["agree"], disagreed=clear["disagree"], groups=groups)
    cited = {number for section in write_sections(found) for clause in section.clauses() for number in clause.citations}
    assert cited <= set(statements)


def test_the_overview_says_how_large_the_conversation_is() -> None:
    totals = findings().totals
    assert (
        f"{totals.participants:,} participants cast {totals.votes:,} votes on {totals.comments_voted_on:,} comments"
        in overview(findings()).text
    )


def test_votes_are_not_said_to_be_on_fewer_comments_than_they_are_on() -> None:
    every, totals = len(synthetic().conversation.comments), findings().totals
    assert totals.comments < every
    told = overview(findings()).text
    assert f"on {every} comments" in told
    shown = sum(statement.everybody.votes for statement in findings().statements.values())
    assert shown < totals.votes
    left = f"this report is about the {totals.comments} others and {shown:,} votes on them"
    assert f"{every - totals.comments} comments were removed by moderation; {left}" in told


def test_comments_that_nobody_has_voted_on_are_not_counted_as_voted_on() -> None:
    conversation = synthetic().conversation
    silent = replace(conversation, comments=[*conversation.comments, Comment(999, "Nobody has seen this.")])
    told = find(silent, analyse(silent.votes, silent.comments))
    assert told.totals.comments_voted_on == len(conversation.comments)
    assert f"on {len(conversation.comments)} comments" in overview(told).text


def test_the_first_words_of_a_comment_do_not_keep_it_out_of_common_ground() -> None:
    conversation = synthetic().conversation
    best = findings().bridging()[0].comment_id
    changed = [replace(one, body="We have too many cars.") if one.comment_id == best else one for one in conversation.comments]
    about = replace(conversation, comments=changed)
    told = find(about, analyse(about.votes, about.comments))
    assert best in {statement.comment_id for statement in told.bridging()}
    assert best in {number for clause in consensus(told).clauses() for number in clause.citations}


def test_comments_that_moderators_mark_have_a_section_of_their_own() -> None:
    conversation = synthetic().conversation
    best = findings().bridging()[0].comment_id
    marked = replace(conversation, comments=[replace(one, is_meta=one.comment_id == best) for one in conversation.comments])
    told = find(marked, analyse(marked.votes, marked.comments))
    sections = {section.id: section for section in write_sections(told)}
    assert [clause.citations for clause in sections.pop("participants").clauses()] == [(best,)]
    assert best not in {number for section in sections.values() for clause in section.clauses() for number in clause.citations}
    report = write_report(told, write_sections(told))
    assert "What participants say about themselves" in report
    assert "What participants say about themselves" not in write_report(findings(), write_sections(findings()))


def test_nobody_is_set_apart_by_what_nobody_says_and_one_group_not_at_all() -> None:
    votes = Votes.of([(person, comment, 0, 0) for person in range(20) for comment in range(8)])
    comments = [Comment(number, f"Plant a tree in street {number}.") for number in range(8)]
    told = find(Conversation("passed", votes, comments), analyse(votes, comments))
    assert len(told.groups) == 1
    assert "apart" not in groups(told).text
    assert "disagree" not in groups(told).text
    assert "are all in one group: Group A with 20" in overview(told).text


def test_what_is_planted_as_agreed_is_told_as_common_ground() -> None:
    cited = {number for clause in consensus(findings()).clauses() for number in clause.citations}
    assert synthetic().agreed & set(findings().statements) <= cited | {one.comment_id for one in findings().bridging()[5:]}


def test_a_topic_cites_its_own_comments_only() -> None:
    for layer in findings().topics:
        for topic in layer:
            cited = {number for clause in topic_section(findings(), topic).clauses() for number in clause.citations}
            assert cited
            assert cited <= set(topic.comments)


def test_long_comments_are_cut_and_inner_quotes_kept_apart() -> None:
    base = findings()
    number, statement = next(iter(base.statements.items()))
    long = replace(statement, body="He said “no” " + "and again " * 60, everybody=Count(1, 1, 30))
    found = replace(base, statements={number: long})
    assert "…”" in uncertainty(found).text


def test_an_empty_conversation_is_told() -> None:
    assert "0 participants cast 0 votes on 0 comments" in overview(empty()).text
    assert len(write_sections(empty())) == 4


@needs_real_conversations
@pytest.mark.parametrize("name", NAMES)
def test_templates_make_no_unfounded_claim_about_real_conversations(name: str) -> None:
    conversation = real_conversation(name)
    found = find(conversation, analyse(conversation.votes, conversation.comments))
    assert any(clause.citations for section in write_sections(found) for clause in section.clauses())
