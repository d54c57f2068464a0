"""Synthetic conversations with planted groups, topics and consensus, for demonstrations, tests and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.synthetic_texts import TOPICS, sentences
from gateleg.apps.delphi.conversations.votes import Choice, Votes

if TYPE_CHECKING:
    from gateleg.apps.delphi.conversations.votes import Floats, Ints

#: 2026-01-05, a Monday, in milliseconds.
_START = 1_767_571_200_000
_DAYS = 14 * 86_400_000
_PASSES = 0.12
#: How strongly a comment divides groups with opposite opinions.
_LEANING = 3.0


@dataclass(frozen=True, slots=True)
class SyntheticPlan:
    """The parameters of a synthetic conversation. The same plan yields the same conversation."""

    participants: int = 300
    comments: int = 80
    groups: int = 3
    topics: int = 6
    #: on average
    votes_per_participant: float = 30.0
    #: the share of comments that 95 of 100 agree with, whatever their group
    agreed: float = 0.05
    #: the share of comments that moderators have rejected
    rejected: float = 0.05
    #: the share of votes that are changed later
    changed: float = 0.02
    #: the relative size of each group; by default all are nearly equal
    shares: tuple[float, ...] = ()
    seed: int = 1

    def __post_init__(self) -> None:
        if self.shares and (len(self.shares) != self.groups or min(self.shares) <= 0):
            raise ValueError(f"shares must have {self.groups} numbers above 0, one per group, not {self.shares}")


@dataclass(frozen=True, slots=True, eq=False)
class Synthetic:
    """A conversation, and the groups, topics and consensus that were planted in it."""

    conversation: Conversation
    #: the group of each participant, by id
    group_of: Ints
    #: the topic of each comment, by id
    topic_of: Ints
    #: the comments that nearly everybody agrees with
    agreed: frozenset[int]


def synthesise(plan: SyntheticPlan | None = None) -> Synthetic:
    """Generate a conversation according to a plan."""
    plan = plan or SyntheticPlan()
    random = np.random.default_rng(plan.seed)
    group_of = _group_of(plan, random)
    # All topics have nearly the same number of comments, in a random order.
    topic_of = random.permutation(np.arange(plan.comments) % max(1, min(plan.topics, len(TOPICS))))
    marks = random.permutation(plan.comments)
    agreed = frozenset(marks[: round(plan.agreed * plan.comments)].tolist())
    rejected = frozenset(marks[len(agreed) : len(agreed) + round(plan.rejected * plan.comments)].tolist())
    chances = _chances(plan, agreed, random)
    votes = _votes(plan, group_of, chances, random)
    bodies = sentences(topic_of.tolist(), random)
    comments = [
        Comment(
            number,
            bodies[number],
            author_id=int(random.integers(plan.participants)),
            created_at=datetime.fromtimestamp((_START + number * 60_000) / 1000, UTC),
            moderated=-1 if number in rejected else 1,
        )
        for number in range(plan.comments)
    ]
    conversation = Conversation(
        f"synthetic-{plan.seed}",
        votes,
        comments,
        topic="What should our town do next?",
        description="A synthetic conversation with planted groups and topics.",
    )
    return Synthetic(conversation, group_of, topic_of, agreed)


def _group_of(plan: SyntheticPlan, random: np.random.Generator) -> Ints:
    if not plan.shares:
        return random.integers(plan.groups, size=plan.participants)
    return random.choice(plan.groups, size=plan.participants, p=np.array(plan.shares) / sum(plan.shares))


def _chances(plan: SyntheticPlan, agreed: frozenset[int], random: np.random.Generator) -> Floats:
    """The probability that a member of each group who does not pass agrees with each comment.

    Groups and comments have directions in a plane, those of groups evenly spaced, so that two principal components can show the opinions.
    """
    leaning = 2 * np.pi * np.arange(plan.groups) / plan.groups
    pulled = random.uniform(0, 2 * np.pi, plan.comments)
    chances = 1 / (1 + np.exp(-_LEANING * np.cos(leaning[:, None] - pulled[None, :])))
    chances[:, sorted(agreed)] = 0.95
    return np.asarray(chances)


def _votes(plan: SyntheticPlan, group_of: Ints, chances: Floats, random: np.random.Generator) -> Votes:
    wanted = np.clip(random.poisson(plan.votes_per_participant, plan.participants), 1, plan.comments)
    people = np.repeat(np.arange(plan.participants), wanted)
    # Drawing with repetition and removing duplicates loses a few votes but needs no loop over participants.
    cells = np.unique(people * plan.comments + random.integers(plan.comments, size=len(people)))
    people, comments = np.divmod(cells, plan.comments)
    times = _START + 3_600_000 + (people * _DAYS) // max(plan.participants, 1) + random.integers(600_000, size=len(people))
    first = Votes(people, comments, _draw_choices(chances[group_of[people], comments], comments, chances, random), times)
    again = first.take(random.random(len(first)) < plan.changed)
    drafts = Votes(again.participants, again.comments, -again.choices, again.times - 1_000)
    return Votes.joined([first, drafts])


def _draw_choices(
    agreeing: Floats, comments: Ints, chances: Floats, random: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
    shared = (chances == 0.95).all(axis=0)[comments]
    passing = (random.random(len(agreeing)) < _PASSES) & ~shared
    sides = np.where(random.random(len(agreeing)) < agreeing, Choice.AGREE, Choice.DISAGREE)
    return np.where(passing, Choice.PASS, sides).astype(np.int8)
