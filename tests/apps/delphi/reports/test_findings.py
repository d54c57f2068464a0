from dataclasses import replace

import numpy as np
import pytest

from gateleg.apps.delphi.reports.findings import Count, find
from tests.apps.delphi.told import empty, findings, opinions, synthetic


def test_every_figure_is_that_of_the_votes_stage() -> None:
    found, result = findings(), opinions()
    for place, number in enumerate(result.matrix.comments.tolist()):
        if number in found.statements:
            count = found.statements[number].everybody
            assert (count.agrees, count.disagrees) == (result.tallies.everybody.agrees[place], result.tallies.everybody.disagrees[place])
            assert sum(group.votes for group in found.statements[number].groups) == result.tallies.grouped.seen[place]
    assert sum(group.size for group in found.groups) == found.totals.grouped
    assert (np.bincount(found.people_groups[found.people_groups >= 0]) == [group.size for group in found.groups]).all()


def test_comments_that_moderation_takes_out_are_not_there() -> None:
    rejected = {comment.comment_id for comment in synthetic().conversation.comments if comment.moderated == -1}
    assert rejected
    assert not rejected & set(findings().statements)
    assert findings().totals.comments_out == len(rejected)


def test_planted_agreement_is_found_by_every_group() -> None:
    shared = {statement.comment_id for statement in findings().bridging()}
    planted = synthetic().agreed & set(findings().statements)
    assert planted <= shared
    assert not planted & {statement.comment_id for statement in findings().divisive()}


def test_few_votes_are_neither_shared_nor_divisive_nor_uncertain() -> None:
    statement = next(iter(findings().statements.values()))
    few = replace(statement, everybody=Count(2, 0, 2), groups=(Count(2), Count(0, 2), Count()))
    found = replace(findings(), statements={few.comment_id: few})
    assert found.bridging() == found.divisive() == found.uncertain() == []


@pytest.mark.parametrize(
    ("count", "side"), [(Count(3, 1), "agree"), (Count(1, 3), "disagree"), (Count(2, 2, 9), "divided"), (Count(), "divided")]
)
def test_the_side_is_the_one_that_more_have_chosen(count: Count, side: str) -> None:
    assert count.side == side


def test_shares_and_intervals_of_nobody() -> None:
    assert Count().share("agree") == 0.0
    assert Count().interval("agree") == (0.0, 1.0)
    low, high = Count(8, 2).interval("agree")
    assert low < 0.8 < high


def test_comments_without_votes_are_there() -> None:
    conversation = synthetic().conversation
    silent = replace(conversation, comments=[*conversation.comments, replace(conversation.comments[0], comment_id=999, moderated=0)])
    statement = find(silent, opinions()).statements[999]
    assert statement.everybody.votes == 0
    assert len(statement.groups) == len(findings().groups)


def test_an_empty_conversation_has_findings() -> None:
    found = empty()
    assert found.statements == {}
    assert found.totals.votes_per_participant == 0.0
    assert found.bridging() == []
