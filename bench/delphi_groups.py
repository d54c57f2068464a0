"""How often improved mode finds the groups that were planted, and how often it finds none in random votes.

    python bench/delphi_groups.py [planted | random] [--draws 100] [--first-seed 1001]

Each draw is a conversation whose votes have times. Of planted groups it prints in how many draws their number was right, in how many the
adjusted Rand index with the groups found was 0.95 or more, and the mean and the least of it. Some people cannot be told apart by the votes
they have cast, so a judge is asked beside it who knows how the others of each planted group have voted on every comment and gives each
person to the likeliest group (naive Bayes): nobody can be expected to do better. Of random votes it prints in how many draws everybody
ended in one group. Components, chance and groups are computed as in a run; statistics, topics and reports are left out.
"""

import argparse
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.conversations.conversation import Comment
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Ints, Votes
from gateleg.apps.delphi.opinions.chance import chance_of
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.division_choice import choose_division
from gateleg.apps.delphi.opinions.improved_groups import find_improved_groups
from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.opinions.membership import members
from gateleg.apps.delphi.opinions.moderation import Moderation
from gateleg.apps.delphi.opinions.pca import principal_components
from gateleg.apps.delphi.opinions.projection import participant_positions

CONSOLE = Console(width=140)
#: Participants, comments, groups, and the votes that each participant is asked for: some are asked for twice, so fewer are cast.
PLANTED = {
    "2 groups, 200 participants, 21 of 40 comments voted on": (200, 40, 2, 30.0),
    "3 groups, 300 participants, 25 of 80 comments voted on": (300, 80, 3, 30.0),
    "4 groups, 300 participants, 25 of 80 comments voted on": (300, 80, 4, 30.0),
    "5 groups, 400 participants, 60 of 120 comments voted on": (400, 120, 5, 83.0),
    "4 groups, 70 participants, 50 of 80 comments voted on": (70, 80, 4, 100.0),
}
#: Participants, comments, the share of votes that are cast, and whether comments and people differ in how many they have.
RANDOM = {
    "200 people, 40 comments, all voted on": (200, 40, 1.0, False),
    "the same, half voted on": (200, 40, 0.5, False),
    "the same, comments of different popularity, people more and less busy": (200, 40, 0.5, True),
    "80 people, 30 comments": (80, 30, 0.5, False),
    "30 people, 15 comments": (30, 15, 1.0, False),
}


def group_of(votes: Votes, comments: list[Comment]) -> tuple[Ints, Ints]:
    """The participants who have a group in improved mode, and the group of each."""
    matrix, moderation, config = VoteMatrix.of(votes), Moderation.of(comments), VotesConfig()
    out = moderation.out_of(matrix.comments)
    positions = participant_positions(matrix, out, principal_components(matrix, out))
    inside = members(matrix.vote_counts, len(matrix.comments))
    order = matrix.in_reading_order
    found = find_improved_groups(positions, order[inside[order]], apart=not chance_of(matrix, out, np.flatnonzero(inside)).likely)
    labels = choose_division(found, votes, moderation, positions, config)[0].group_of(len(positions))
    return matrix.participants[labels >= 0], labels[labels >= 0]


def random_votes(people: int, comments: int, cast: float, uneven: bool, seed: int) -> Votes:
    """Votes that have nothing to do with each other, on comments that differ in how many agree; one after the other, person by person."""
    random = np.random.default_rng(seed)
    chances = np.full((people, comments), cast)
    if uneven:
        chances = np.clip(np.outer(random.gamma(2.0, 0.5, people), random.gamma(2.0, 0.5, comments)) * cast, 0.0, 1.0)
    rows, columns = np.nonzero(random.random((people, comments)) < chances)
    agreeing = random.uniform(0.2, 0.8, comments)
    choices = np.where(random.random(len(rows)) < 0.15, 0, np.where(random.random(len(rows)) < agreeing[columns], 1, -1))
    return Votes(rows, columns, choices.astype(np.int8), 1_767_571_200_000 + 1_000 * np.arange(len(rows)))


def judged(votes: Votes, who: Ints, planted: Ints) -> Ints:
    """For some participants the group that a judge gives them who knows the votes of everybody else in each planted group."""
    matrix = VoteMatrix.of(votes)
    chosen = matrix.dense(missing=9)[np.searchsorted(matrix.participants, who)]
    is_vote = np.stack([chosen == choice for choice in (-1, 0, 1)]).astype(np.float64)
    belongs = np.eye(int(planted.max()) + 1)[planted]
    counts = np.einsum("cpn,pg->gcn", is_vote, belongs)
    scores = np.empty(belongs.shape)
    for group, known in enumerate(counts):
        # A person's own votes are taken out of their group.
        others = known[:, None, :] - is_vote * belongs[None, :, group, None]
        chances = (others + 0.5) / (others.sum(axis=0) + 1.5)
        scores[:, group] = (np.log(chances) * is_vote).sum(axis=(0, 2))
    return np.asarray(scores.argmax(axis=1))


def print_planted(seeds: range, progress: Callable[[str], None]) -> None:
    table = Table("planted groups", "draws", "number right", "0.95 or more", "mean, least", "of the judge", "mean, least")
    for name, (people, comments, groups, asked) in PLANTED.items():
        scores, best, right = [], [], 0
        for seed in seeds:
            made = synthesise(SyntheticPlan(people, comments, groups, votes_per_participant=asked, seed=seed))
            who, labels = group_of(made.conversation.votes, list(made.conversation.comments))
            planted = made.group_of[who]
            scores.append(agreement(planted, labels))
            best.append(agreement(planted, judged(made.conversation.votes, who, planted)))
            right += len(np.unique(labels)) == groups
            progress(f"{name}, seed {seed}: {len(np.unique(labels))} groups, {scores[-1]:.3f}, judge {best[-1]:.3f}")
        figures = [text for of in (scores, best) for text in (str(sum(one >= 0.95 for one in of)), f"{np.mean(of):.2f}, {min(of):.2f}")]
        table.add_row(name, str(len(seeds)), str(right), *figures)
    CONSOLE.print(table)


def print_random(seeds: range, progress: Callable[[str], None]) -> None:
    table = Table("random votes", "draws", "one group")
    for name, (people, comments, cast, uneven) in RANDOM.items():
        ones = 0
        for seed in seeds:
            _, labels = group_of(random_votes(people, comments, cast, uneven, seed), [Comment(number, "") for number in range(comments)])
            ones += len(np.unique(labels)) == 1
            progress(f"{name}, seed {seed}: {len(np.unique(labels))} groups")
        table.add_row(name, str(len(seeds)), str(ones))
    CONSOLE.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=["planted", "random"], help="one of the two tables; both without")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=1001)
    parser.add_argument("--verbose", action="store_true", help="print each draw")
    arguments = parser.parse_args()
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.draws)
    progress = (lambda line: print(line, flush=True)) if arguments.verbose else (lambda line: None)
    if arguments.what != "random":
        print_planted(seeds, progress)
    if arguments.what != "planted":
        print_random(seeds, progress)


if __name__ == "__main__":
    main()
