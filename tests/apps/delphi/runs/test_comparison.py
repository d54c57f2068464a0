from uuid import uuid4

import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.errors import RunMissing
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.runs.comparison import Change, GroupMatch, Move, Outcome, compare
from gateleg.apps.delphi.runs.origin import Origin
from gateleg.apps.delphi.service import compare_runs, run_votes, upload_conversation
from gateleg.store import AsyncStore

BEFORE = Outcome(
    {1: 0, 2: 0, 3: 0, 4: 1, 5: 1, 6: 1},
    frozenset({(10, "agree"), (11, "disagree")}),
    frozenset({(0, 10, "agree"), (1, 12, "disagree")}),
    {10: 0.1, 11: 0.5, 12: 0.9},
)


def test_a_run_does_not_differ_from_itself() -> None:
    found = compare(BEFORE, BEFORE)
    assert (found.participants, found.agreement, found.regrouped, found.changes) == (6, 1.0, (), ())
    assert found.consensus_gained == found.consensus_lost == ()
    assert found.representatives_gained == found.representatives_lost == ()


def test_groups_are_matched_by_members_not_by_number() -> None:
    turned = Outcome({person: 1 - group for person, group in BEFORE.group_of.items()}, BEFORE.consensus, frozenset(), BEFORE.divisiveness)
    found = compare(BEFORE, turned)
    assert found.agreement == 1.0
    assert found.matches == (GroupMatch(0, 1, 3, 1.0), GroupMatch(1, 0, 3, 1.0))
    assert found.regrouped == ()
    assert found.representatives_lost == ((0, 12, "disagree"), (1, 10, "agree"))


def test_who_is_where_is_counted_for_everybody_who_has_a_group_in_either() -> None:
    after = Outcome({1: 0, 2: 0, 3: 1, 4: 1, 7: 1}, frozenset(), frozenset(), {})
    assert compare(BEFORE, after).moves == (Move(0, 0, 2), Move(0, 1, 1), Move(1, 1, 1), Move(1, None, 2), Move(None, 1, 1))


def test_what_has_changed_is_told() -> None:
    after = Outcome(
        {1: 0, 2: 0, 3: 1, 4: 1, 5: 1, 7: 2},
        frozenset({(10, "disagree")}),
        frozenset({(0, 10, "agree"), (1, 13, "agree")}),
        {10: 0.6, 11: 0.5, 13: 0.2},
    )
    found = compare(BEFORE, after)
    assert found.participants == 5
    assert found.regrouped == (3,)
    assert found.consensus_gained == ((10, "disagree"),)
    assert found.consensus_lost == ((10, "agree"), (11, "disagree"))
    assert found.representatives_gained == ((1, 13, "agree"),)
    assert found.representatives_lost == ((1, 12, "disagree"),)
    assert found.changes == (Change(10, 0.1, 0.6),)
    assert (found.comments_added, found.comments_removed) == ((13,), (12,))


def test_runs_with_nothing_in_common_can_be_compared() -> None:
    nothing = Outcome({}, frozenset(), frozenset(), {})
    assert compare(BEFORE, nothing).matches == ()
    assert compare(BEFORE, nothing).representatives_lost == tuple(sorted(BEFORE.representatives))
    assert compare(nothing, nothing).participants == 0


async def test_stored_runs_are_compared(store: AsyncStore) -> None:
    conversation = synthesise(SyntheticPlan(participants=90, comments=30)).conversation
    await upload_conversation(store, conversation)

    async def run(config: VotesConfig) -> Origin:
        origin = Origin(uuid4(), conversation.conversation_id, store.setup.now())
        await run_votes(store, origin, config)
        return origin

    shrunk, again, exact = await run(VotesConfig()), await run(VotesConfig()), await run(VotesConfig(mode="exact"))
    same = await compare_runs(store, shrunk.job_id, again.job_id)
    assert (same.agreement, same.changes) == (1.0, ())
    assert (await compare_runs(store, exact.job_id, shrunk.job_id)).changes
    with pytest.raises(RunMissing):
        await compare_runs(store, exact.job_id, uuid4())
