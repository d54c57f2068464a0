import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.metrics import adjusted_rand_score  # type: ignore[import-untyped]

from gateleg.apps.delphi.conversations.conversation import Comment
from gateleg.apps.delphi.conversations.synthetic import Synthetic, SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.groups import Patience, grouping
from gateleg.apps.delphi.opinions.stage import Opinions, analyse

CONFIGS = [VotesConfig(mode="exact"), VotesConfig(), VotesConfig(mode="exact", replay=True, replay_updates=8)]


def opinions_of(synthetic: Synthetic, config: VotesConfig | None = None) -> Opinions:
    return analyse(synthetic.conversation.votes, synthetic.conversation.comments, config)


def planted_ari(synthetic: Synthetic, opinions: Opinions) -> float:
    found = opinions.groups.group_of(len(opinions.matrix.participants))
    planted = synthetic.group_of[opinions.matrix.participants]
    return float(adjusted_rand_score(planted[found >= 0], found[found >= 0]))


@pytest.mark.parametrize("config", CONFIGS, ids=["exact", "improved", "replay"])
@pytest.mark.parametrize("groups", [2, 3])
def test_planted_groups_are_found(config: VotesConfig, groups: int) -> None:
    synthetic = synthesise(SyntheticPlan(groups=groups, votes_per_participant=40))
    assert planted_ari(synthetic, opinions_of(synthetic, config)) >= 0.95


@pytest.mark.parametrize("groups", [4, 5])
def test_many_planted_groups_are_found_from_many_beginnings(groups: int) -> None:
    synthetic = synthesise(SyntheticPlan(participants=800, comments=150, groups=groups, votes_per_participant=70))
    assert planted_ari(synthetic, opinions_of(synthetic)) >= 0.95


@pytest.mark.parametrize(
    "plan",
    [
        SyntheticPlan(participants=400, comments=120, groups=3, shares=(6, 3, 1), votes_per_participant=60, seed=4),
        SyntheticPlan(participants=400, comments=300, groups=3, votes_per_participant=30, seed=5),
    ],
    ids=["unequal", "a tenth of all votes"],
)
def test_planted_groups_are_found_where_they_are_unequal_or_votes_few(plan: SyntheticPlan) -> None:
    synthetic = synthesise(plan)
    for config in CONFIGS[:2]:
        assert planted_ari(synthetic, opinions_of(synthetic, config)) >= 0.95


@pytest.mark.parametrize("config", CONFIGS, ids=["exact", "improved", "replay"])
def test_planted_agreement_is_found_and_never_turned_round(config: VotesConfig) -> None:
    synthetic = synthesise(SyntheticPlan(seed=4))
    opinions = opinions_of(synthetic, config)
    assert synthetic.agreed & {found.comment_id for found in opinions.consensus.agree}
    assert not synthetic.agreed & {found.comment_id for found in opinions.consensus.disagree}
    lists = [opinions.representatives, *opinions.subgroup_representatives.values()]
    for group in (group for groups in lists for group in groups.values()):
        assert all(found.side == "agree" for found in group if found.comment_id in synthetic.agreed and found.n_trials >= 5)
    places = np.isin(opinions.matrix.comments, sorted(synthetic.agreed))
    assert (opinions.pca.center[places] > 0.7).all()


def test_participants_are_clustered_as_they_come_up_comment_by_comment() -> None:
    # Everybody votes on seven comments; 30 and 10 begin with comment 1, the others with comment 0.
    first = {30: 1, 20: 0, 10: 1, 0: 0}
    rows = [(person, comment, 1, 0) for person, begin in first.items() for comment in range(begin, begin + 7)]
    opinions = analyse(Votes.of(rows), [Comment(number, "") for number in range(8)])
    assert opinions.matrix.participants[opinions.groups.members].tolist() == [0, 20, 10, 30]


@pytest.mark.parametrize("config", CONFIGS, ids=["exact", "improved", "replay"])
def test_the_order_of_rows_changes_nothing(config: VotesConfig) -> None:
    synthetic = synthesise(SyntheticPlan(participants=120, comments=40))
    votes, comments = synthetic.conversation.votes, synthetic.conversation.comments
    shuffled = votes.take(np.random.default_rng(9).permutation(len(votes)))
    one, other = analyse(votes, comments, config), analyse(shuffled, comments[::-1], config)
    assert fingerprint(one) == fingerprint(other)


def fingerprint(opinions: Opinions) -> bytes:
    arrays = [opinions.pca.center, opinions.pca.components, opinions.positions, opinions.priorities, opinions.divisiveness.values]
    labels = opinions.groups.subgroup_of(len(opinions.matrix.participants)), opinions.groups.group_of(len(opinions.matrix.participants))
    lists = repr((opinions.representatives, opinions.consensus, opinions.common_ground, opinions.history)).encode()
    return b"".join(array.tobytes() for array in (*arrays, *labels)) + lists


PRINT = """
import hashlib
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan
from tests.apps.delphi.opinions.test_stage import fingerprint, opinions_of, synthesise
print(hashlib.sha256(fingerprint(opinions_of(synthesise(SyntheticPlan(participants=150, comments=40))))).hexdigest())
"""


def test_two_processes_come_to_the_same_result() -> None:
    results = {subprocess.run([sys.executable, "-c", PRINT], capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(results) == 1
    assert next(iter(results)).strip()


@pytest.mark.parametrize("config", CONFIGS, ids=["exact", "improved", "replay"])
@pytest.mark.parametrize(
    "rows",
    [
        [],
        [(1, 1, 1, 0)],
        [(1, 1, 1, 0), (1, 2, -1, 0)],
        [(1, 1, 1, 0), (2, 1, -1, 0)],
        [(p, c, 0, 0) for p in range(20) for c in range(9)],
        [(p, c, 1, 0) for p in range(20) for c in range(9)],
    ],
    ids=["nobody", "one vote", "one row", "one column", "all pass", "all agree"],
)
def test_conversations_with_next_to_nothing_in_them(rows: list[tuple[int, int, int, int]], config: VotesConfig) -> None:
    opinions = analyse(Votes.of(rows), [], config)
    people, comments = opinions.matrix.shape
    assert opinions.positions.shape == (people, 2)
    assert np.isfinite(opinions.positions).all()
    assert opinions.priorities.shape == (comments,)
    assert len(opinions.representatives) == len(opinions.groups.groups.clusters)
    assert not {found.comment_id for found in opinions.consensus.agree} & {found.comment_id for found in opinions.consensus.disagree}


def test_a_conversation_of_rejected_comments_has_no_opinions() -> None:
    votes = synthesise(SyntheticPlan(participants=40, comments=10)).conversation.votes
    opinions = analyse(votes, [Comment(number, "", moderated=-1) for number in range(10)])
    assert not opinions.positions.any()
    assert opinions.consensus.agree == ()
    assert opinions.tallies.everybody.agrees.sum() > 0


def test_the_config_of_the_job_is_honoured() -> None:
    synthetic = synthesise(SyntheticPlan(participants=60, comments=20))
    opinions = opinions_of(synthetic, VotesConfig(n_components=3, max_votes=200, excluded_comments=frozenset({3}), correlated_comments=0))
    assert opinions.positions.shape[1] == 3
    assert len(opinions.matrix.rows) <= 200
    assert 3 in opinions.moderation.out
    assert opinions.correlations is None


@pytest.mark.parametrize("bad", [{"n_components": 0}, {"max_votes": 0}, {"mode": "better"}, {"pca_method": "magic"}, {"unknown": 1}])
def test_a_config_that_means_nothing_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        VotesConfig.model_validate(bad)


def test_removed_participants_have_no_say() -> None:
    conversation = synthesise(SyntheticPlan(participants=40, comments=10)).conversation
    opinions = analyse(conversation.votes, conversation.comments, removed_participants={0, 1})
    assert not {0, 1} & set(opinions.matrix.participants.tolist())


def test_every_grouped_participant_has_a_subgroup_of_their_group() -> None:
    opinions = opinions_of(synthesise(SyntheticPlan(participants=200)))
    people = len(opinions.matrix.participants)
    group, sub, base = (labels(people) for labels in (opinions.groups.group_of, opinions.groups.subgroup_of, opinions.groups.base_of))
    assert ((group >= 0) == (sub >= 0)).all()
    assert ((group >= 0) == (base >= 0)).all()
    assert set(group[group >= 0].tolist()) == set(opinions.groups.subgroups)


def test_improved_subgroups_are_told_by_comments_that_enough_of_them_have_voted_on() -> None:
    opinions = opinions_of(synthesise(SyntheticPlan(seed=2)))
    told = [found for group in opinions.subgroup_representatives.values() for listed in group.values() for found in listed]
    assert told
    assert min(found.n_trials for found in told) >= 5


def test_groups_change_only_after_another_number_has_won_four_times() -> None:
    patience, kept = Patience(), []
    for best in (2, 3, 3, 3, 2, 3, 3, 3, 3, 4):
        patience = patience.after(best)
        kept.append(patience.kept)
    assert kept == [2, 2, 2, 2, 2, 2, 2, 2, 3, 3]


def test_a_replay_tells_how_the_conversation_went() -> None:
    synthetic = synthesise(SyntheticPlan(participants=60, comments=20))
    history = opinions_of(synthetic, VotesConfig(replay=True, replay_updates=5)).history
    assert len(history) == 5
    assert [update.votes for update in history] == sorted(update.votes for update in history)
    assert history[-1].votes == len(synthetic.conversation.votes)
    assert history[0].participants < history[-1].participants == 60


def test_whoever_came_early_stays_in_when_replayed() -> None:
    early = [(100, 0, 1, 0)]
    later = [(p, c, 1 if p % 2 else -1, 10 + p) for p in range(20) for c in range(10)]
    plain, replayed = (analyse(Votes.of(early + later), [], VotesConfig(replay=again)) for again in (False, True))
    assert (plain.inside[-1], replayed.inside[-1]) == (False, True)
    anew = analyse(Votes.of(early + later), [], VotesConfig(replay=True, replay_updates=3, replay_from=0.9))
    assert not anew.inside[-1]
    assert anew.history[0].votes == int(0.9 * len(early + later))


def test_a_replay_remembers_base_clusters_and_finds_groups_anew_from_them() -> None:
    synthetic = synthesise(SyntheticPlan(participants=130, comments=25, groups=4, seed=3))
    found = opinions_of(synthetic, VotesConfig(mode="exact", replay=True, replay_updates=12)).groups
    assert found.base.ids.tolist() != list(range(len(found.base)))
    anew = grouping(found.base.centers, found.base.sizes.astype(np.float64))
    assert found.groups.scores == anew.scores
    assert found.groups.clusters.labels.tolist() == anew.clusters.labels.tolist()


def test_improved_opinions_say_how_sure_they_are() -> None:
    synthetic = synthesise(SyntheticPlan(participants=300, votes_per_participant=60))
    exact, improved = opinions_of(synthetic, VotesConfig(mode="exact")), opinions_of(synthetic)
    assert exact.intervals is None
    assert improved.intervals is not None
    share = improved.tallies.groups.shares()[0]
    assert ((improved.intervals.agree_low <= share + 1e-9) & (share <= improved.intervals.agree_high + 1e-9)).all()
    assert {found.comment_id for found in improved.common_ground} & synthetic.agreed
    sizes = improved.tallies.group_sizes.tolist()
    assert sizes == sorted(sizes, reverse=True)
