from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import numpy as np
import pytest

from gateleg.apps.delphi.conversations.synthetic import Synthetic, SyntheticPlan, synthesise
from gateleg.apps.delphi.errors import ConversationMissing, RunMissing
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.stage import Opinions, analyse
from gateleg.apps.delphi.runs.chunks import unpack
from gateleg.apps.delphi.runs.origin import Origin
from gateleg.apps.delphi.runs.rows import rows_of
from gateleg.apps.delphi.runs.run_tables import LatestRun, Run, RunStatus
from gateleg.apps.delphi.runs.vote_tables import (
    BaseCluster,
    CommentStatistics,
    ComponentsChunk,
    ConsensusComment,
    CorrelationsChunk,
    OpinionGroup,
    ParticipantProjection,
    RepresentativeComment,
)
from gateleg.apps.delphi.service import (
    RESULTS,
    complete_run,
    delete_run,
    latest_run,
    results,
    run_votes,
    runs,
    start_run,
    upload_conversation,
)
from gateleg.apps.delphi.tables import CommentExtremity
from gateleg.jobs import ManualClock
from gateleg.model import spec_of
from gateleg.store import AsyncStore
from gateleg.store.sizes import item_size

T = TypeVar("T")
PLAN = SyntheticPlan(participants=130, comments=40, votes_per_participant=20)


async def listed(found: AsyncIterator[T]) -> list[T]:
    return [item async for item in found]


@pytest.fixture(scope="module")
def synthetic() -> Synthetic:
    return synthesise(PLAN)


@pytest.fixture
def opinions(synthetic: Synthetic) -> Opinions:
    return analyse(synthetic.conversation.votes, synthetic.conversation.comments)


def origin(store: AsyncStore, job_id: UUID | None = None, **more: Any) -> Origin:
    return Origin(job_id or uuid4(), "synthetic-1", store.setup.now(), **more)


@pytest.fixture
async def run(store: AsyncStore, synthetic: Synthetic) -> Run:
    await upload_conversation(store, synthetic.conversation)
    return await run_votes(store, origin(store))


async def test_a_run_says_what_it_read_and_what_it_found(run: Run, opinions: Opinions) -> None:
    assert run.status is RunStatus.COMPLETED
    assert run.completed_at is not None
    assert run.config == VotesConfig().model_dump(mode="json")
    assert run.summary["votes"] == len(opinions.matrix.rows)
    assert run.summary["groups"] == 3
    assert sum(run.summary["group_sizes"]) == run.summary["grouped"]


async def test_components_come_back_to_the_last_bit(store: AsyncStore, run: Run, opinions: Opinions) -> None:
    chunks = await listed(results(store, ComponentsChunk, run.job_id))
    assert [number for chunk in chunks for number in chunk.comment_ids] == opinions.matrix.comments.tolist()
    assert np.array_equal(np.concatenate([chunk.center for chunk in chunks]), opinions.pca.center)
    assert np.array_equal(np.concatenate([chunk.components for chunk in chunks], axis=1), opinions.pca.components)
    assert np.array_equal(np.concatenate([chunk.comment_positions for chunk in chunks], axis=1).T, opinions.comment_positions)


async def test_participants_come_back_with_their_groups(store: AsyncStore, run: Run, opinions: Opinions) -> None:
    people = await listed(results(store, ParticipantProjection, run.job_id))
    assert [person.participant_id for person in people] == opinions.matrix.participants.tolist()
    assert np.array_equal([person.coordinates for person in people], opinions.positions)
    groups = opinions.groups.group_of(len(people)).tolist()
    assert [-1 if person.group_id is None else person.group_id for person in people] == groups
    assert all(person.n_votes == person.n_agree + person.n_disagree + person.n_pass for person in people)


async def test_groups_are_made_of_base_clusters_and_subgroups_of_groups(store: AsyncStore, run: Run) -> None:
    groups = await listed(results(store, OpinionGroup, run.job_id))
    clusters = {cluster.cluster_id: cluster for cluster in await listed(results(store, BaseCluster, run.job_id))}
    top = {group.group_id: group for group in groups if group.level == "group"}
    for group in top.values():
        members = [number for cluster in group.base_cluster_ids for number in unpack(clusters[cluster].members).tolist()]
        assert len(members) == len(set(members)) == group.member_count
        below = [sub for sub in groups if sub.level == "subgroup" and sub.parent_id == group.group_id]
        assert sum(sub.member_count for sub in below) == group.member_count
        assert sorted(number for sub in below for number in sub.base_cluster_ids) == sorted(group.base_cluster_ids)
    assert sum(group.member_count for group in top.values()) == run.summary["grouped"]


@pytest.mark.parametrize("config", [VotesConfig(), VotesConfig(mode="exact")], ids=["improved", "exact"])
async def test_subgroups_tell_what_sets_them_apart_if_enough_have_voted_on_it(
    store: AsyncStore, run: Run, synthetic: Synthetic, config: VotesConfig
) -> None:
    opinions = analyse(synthetic.conversation.votes, synthetic.conversation.comments, config)
    again = await run_votes(store, origin(store), config)
    groups = await listed(results(store, OpinionGroup, again.job_id))
    assert all(not group.representatives for group in groups if group.level == "group")
    below = [group for group in groups if group.level == "subgroup"]
    assert below
    for sub in below:
        expected = opinions.subgroup_representatives[sub.parent_id or 0][sub.group_id]
        found = [(row.comment_id, row.side, row.repness_test, row.best_agree) for row in sub.representatives]
        assert found == [(e.comment_id, e.side, e.repness_test, e.best_agree) for e in expected if e.n_trials >= 5]
    assert any(sub.representatives for sub in below)


async def test_lists_come_back_in_their_order(store: AsyncStore, run: Run, opinions: Opinions) -> None:
    for group, expected in opinions.representatives.items():
        found = await listed(store.query(RepresentativeComment.of_group, job_id=run.job_id, group_id=group))
        assert [(row.comment_id, row.side, row.repness_test) for row in found] == [(e.comment_id, e.side, e.repness_test) for e in expected]
    shared = await listed(results(store, ConsensusComment, run.job_id))
    assert [row.comment_id for row in shared if row.kind == "agree"] == [found.comment_id for found in opinions.consensus.agree]


async def test_every_comment_has_its_statistics_and_both_extremities(store: AsyncStore, run: Run, opinions: Opinions) -> None:
    comments = await listed(results(store, CommentStatistics, run.job_id))
    divided = await listed(results(store, CommentExtremity, run.job_id))
    assert [row.priority for row in comments] == opinions.priorities.tolist()
    assert [row.map_extremity for row in comments] == opinions.map_extremity.tolist()
    assert [row.extremity_value for row in divided] == opinions.divisiveness.values.tolist()
    assert {row.calculation_method for row in divided} == {"max_vote_diff_shrunk"}
    for row in comments:
        assert row.agrees >= sum(votes.agrees for votes in row.groups.values())


async def test_correlations_come_back(store: AsyncStore, run: Run, opinions: Opinions) -> None:
    assert opinions.correlations is not None
    chunks = await listed(results(store, CorrelationsChunk, run.job_id))
    assert np.allclose([row for chunk in chunks for row in chunk.rows], opinions.correlations.values, atol=1e-4)


async def test_improved_runs_keep_intervals_and_common_ground(store: AsyncStore, run: Run) -> None:
    assert 0 < run.summary["stability"] <= 1
    groups = await listed(results(store, OpinionGroup, run.job_id))
    assert all((group.stability is not None) == (group.level == "group") for group in groups)
    comment = (await listed(results(store, CommentStatistics, run.job_id)))[0]
    for votes in comment.groups.values():
        assert votes.agree_low is not None
        assert votes.agree_high is not None
        assert votes.agree_low <= votes.agree_high


async def test_exact_runs_keep_plain_shares_alone(store: AsyncStore, run: Run) -> None:
    exact = await run_votes(store, origin(store), VotesConfig(mode="exact"))
    assert {row.calculation_method async for row in results(store, CommentExtremity, exact.job_id)} == {"max_vote_diff"}
    assert {votes.agree_low async for row in results(store, CommentStatistics, exact.job_id) for votes in row.groups.values()} == {None}


async def test_a_replayed_run_keeps_its_history(store: AsyncStore, run: Run) -> None:
    replayed = await run_votes(store, origin(store), VotesConfig(replay=True, replay_updates=4))
    assert [update["votes"] for update in replayed.history][-1] > replayed.history[0]["votes"]
    assert len(replayed.history) == 4


async def test_runs_do_not_touch_each_other(store: AsyncStore, run: Run, clock: ManualClock) -> None:
    before = {kind: await listed(results(store, kind, run.job_id)) for kind in RESULTS}
    clock.advance(60)
    second = await run_votes(store, origin(store), VotesConfig(n_components=3))
    assert {kind: await listed(results(store, kind, run.job_id)) for kind in RESULTS} == before
    assert len((await listed(results(store, ParticipantProjection, second.job_id)))[0].coordinates) == 3
    assert [found.job_id async for found in runs(store, run.conversation_id)] == [second.job_id, run.job_id]
    assert (await latest_run(store, run.conversation_id)).job_id == second.job_id


async def test_a_slow_old_run_does_not_displace_a_newer_one(store: AsyncStore, run: Run) -> None:
    older = Origin(uuid4(), run.conversation_id, run.created_at - timedelta(hours=1))
    late = await run_votes(store, older)
    assert late.status is RunStatus.COMPLETED
    assert (await latest_run(store, run.conversation_id)).job_id == run.job_id


async def test_a_run_that_is_begun_again_reads_what_it_read_before(store: AsyncStore, synthetic: Synthetic) -> None:
    await upload_conversation(store, synthetic.conversation)
    where = origin(store)

    def stop(done: float, step: str) -> None:
        if step == "writing results":
            raise InterruptedError

    with pytest.raises(InterruptedError):
        await run_votes(store, where, report=stop)
    with pytest.raises(RunMissing):
        await latest_run(store, where.conversation_id)
    (half,) = await listed(runs(store, where.conversation_id))
    assert half.status is RunStatus.RUNNING
    await upload_conversation(store, synthesise(SyntheticPlan(participants=20, comments=9)).conversation)
    again = await run_votes(store, where)
    assert (again.upload_id, again.summary["participants"]) == (half.upload_id, 130)
    rows = [row for kind in RESULTS for row in await listed(results(store, kind, where.job_id))]
    expected = analyse(synthetic.conversation.votes, synthetic.conversation.comments)
    assert len(rows) == len(list(rows_of(expected, where)))


async def test_a_completed_run_that_is_begun_again_ends_the_same(store: AsyncStore, run: Run) -> None:
    again = await run_votes(store, Origin(run.job_id, run.conversation_id, run.created_at))
    assert again == run


async def test_a_run_knows_the_jobs_above_it(store: AsyncStore, run: Run) -> None:
    parent, root = uuid4(), uuid4()
    child = await run_votes(store, origin(store, parent_job_id=parent, root_job_id=root))
    assert [found.job_id async for found in store.query(Run.of_root, root_job_id=root)] == [child.job_id]
    (chunk,) = await listed(results(store, ComponentsChunk, child.job_id))
    assert (chunk.parent_job_id, chunk.root_job_id, chunk.job_stage) == (parent, root, "PCA")


async def test_a_run_is_deleted_only_on_demand_and_the_one_before_is_the_latest_again(
    store: AsyncStore, run: Run, clock: ManualClock
) -> None:
    clock.advance(60)
    second = await run_votes(store, origin(store))
    assert await delete_run(store, second.job_id) > 100
    assert (await latest_run(store, run.conversation_id)).job_id == run.job_id
    assert all([await listed(results(store, kind, second.job_id)) == [] for kind in RESULTS])
    await delete_run(store, run.job_id)
    with pytest.raises(RunMissing):
        await latest_run(store, run.conversation_id)
    with pytest.raises(RunMissing):
        await delete_run(store, run.job_id)


async def test_deleting_an_old_run_leaves_the_latest_alone(store: AsyncStore, run: Run, clock: ManualClock) -> None:
    clock.advance(60)
    second = await run_votes(store, origin(store))
    await delete_run(store, run.job_id)
    assert (await latest_run(store, run.conversation_id)).job_id == second.job_id


async def test_another_stage_uses_the_same_runs(store: AsyncStore, run: Run) -> None:
    started, upload = await start_run(store, origin(store, job_stage="UMAP"), {"n_neighbors": 15})
    assert upload.upload_id == run.upload_id
    await complete_run(store, started, summary={"layers": 3})
    assert (await latest_run(store, run.conversation_id, "UMAP")).summary == {"layers": 3}
    stages = [found.stage async for found in store.query(LatestRun.of_conversation, conversation_id=run.conversation_id)]
    assert stages == ["PCA", "UMAP"]


async def test_a_conversation_that_is_not_there_cannot_be_analysed(store: AsyncStore) -> None:
    with pytest.raises(ConversationMissing):
        await run_votes(store, Origin(uuid4(), "nobody", store.setup.now()))


def test_no_row_comes_near_the_limit() -> None:
    conversation = synthesise(SyntheticPlan(participants=1_000, comments=1_500, votes_per_participant=10)).conversation
    opinions = analyse(conversation.votes, conversation.comments, VotesConfig(n_components=10, correlated_comments=400))
    where = Origin(uuid4(), "c", datetime.now(UTC), uuid4(), uuid4())
    sizes = {type(row).__name__: 0 for row in rows_of(opinions, where)}
    for row in rows_of(opinions, where):
        sizes[type(row).__name__] = max(sizes[type(row).__name__], item_size(spec_of(type(row)).encode(row)))
    assert max(sizes.values()) < 200_000, sizes
