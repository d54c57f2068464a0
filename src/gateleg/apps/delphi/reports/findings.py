"""The input of maps and reports: opinions, topics and texts of a conversation, by comment and by group. Pure.

    findings = find(conversation, opinions, topics)

Every number comes from the results of the votes stage or the comments stage. Comments that moderation excludes are not included, so that
maps and reports cannot show them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.opinions.proportions import wilson_interval
from gateleg.apps.delphi.reports.participation import Participation, participation_of
from gateleg.apps.delphi.topics.redaction import redact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
    from gateleg.apps.delphi.conversations.votes import Floats, Ints
    from gateleg.apps.delphi.opinions.modes import Division, Mode, Order
    from gateleg.apps.delphi.opinions.representatives import Representative
    from gateleg.apps.delphi.opinions.stage import Opinions
    from gateleg.apps.delphi.opinions.tallies import Tally
    from gateleg.apps.delphi.opinions.timeline import Moment
    from gateleg.apps.delphi.topics.self_descriptions import Suggestion
    from gateleg.apps.delphi.topics.stage import Topic, Topics

#: The minimum number of votes for a share to be stated.
ENOUGH_VOTES = 5
#: The minimum size of a group that is shown, so that the opinions of one or two people do not appear as a group's.
LEAST_SHOWN = 3
#: The share of passes from which a comment is called uncertain.
UNSURE_SHARE = 0.2
_LONGEST_MOTTO = 48


@lru_cache(maxsize=100_000)
def _bounds(part: int, whole: int) -> tuple[float, float]:
    # Cached, because every section of a report ranks all comments by their bounds.
    low, high = wilson_interval(part, whole)
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Count:
    """The votes of everybody, or of one group, on a comment."""

    agrees: int = 0
    disagrees: int = 0
    passes: int = 0

    @property
    def votes(self) -> int:
        """The number of all votes."""
        return self.agrees + self.disagrees + self.passes

    @property
    def enough(self) -> bool:
        """Whether there are enough votes for shares to be stated."""
        return self.votes >= ENOUGH_VOTES

    def share(self, side: str) -> float:
        """The share of `agree`, `disagree` or `pass`; 0 without votes."""
        counted = {"agree": self.agrees, "disagree": self.disagrees, "pass": self.passes}[side]
        return counted / self.votes if self.votes else 0.0

    def interval(self, side: str) -> tuple[float, float]:
        """The 95 % interval of the share of `agree`, `disagree` or `pass`."""
        counted = {"agree": self.agrees, "disagree": self.disagrees, "pass": self.passes}[side]
        return _bounds(counted, self.votes)

    @property
    def side(self) -> str:
        """`agree` or `disagree`, whichever has more votes; `divided` on a tie."""
        return "divided" if self.agrees == self.disagrees else "agree" if self.agrees > self.disagrees else "disagree"


def total(counts: Iterable[Count]) -> Count:
    """The votes of several groups together."""
    listed = list(counts)
    return Count(*(sum(getattr(count, name) for count in listed) for name in ("agrees", "disagrees", "passes")))


@dataclass(frozen=True, slots=True)
class Statement:
    """A comment and the votes on it."""

    comment_id: int
    body: str
    everybody: Count
    #: the votes of each group, in the order of the groups
    groups: tuple[Count, ...] = ()
    #: the probability that random members of all groups, one of each, agree
    group_consensus: float = 0.0
    #: the mean over groups of the share that agrees among those who do not pass
    normalised_consensus: float = 0.5
    #: how much groups differ, from 0 to 1
    divisiveness: float = 0.0
    #: the keys of its topics, finest first; empty without text
    topics: tuple[str, ...] = ()
    #: its position on the map of comments
    position: tuple[float, float] | None = None
    outlier: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """An opinion group."""

    group_id: int
    place: int
    size: int
    representatives: tuple[Representative, ...] = ()

    @property
    def letter(self) -> str:
        """A, B, C ... by id."""
        return chr(ord("A") + self.place)

    @property
    def name(self) -> str:
        """The name that readers see."""
        return f"Group {self.letter}"


@dataclass(frozen=True, slots=True)
class Certainty:
    """How reliable the groups are."""

    #: how well they reappear without some comments, from 0 to 1; None if unknown
    stability: float | None = None
    #: the number of shuffles in the test for chance, and of those that varied as strongly as the real votes; 0 if untested
    draws: int = 0
    as_strong: int = 0
    #: which division improved mode has chosen, and why
    division: Division = "not-weighed"


@dataclass(frozen=True, slots=True)
class Alternative:
    """The groups that the analysis would find without comments that may describe their authors."""

    #: the sizes of groups that are shown, largest first
    sizes: tuple[int, ...]
    stability: float | None
    #: shuffles in the test for chance that varied as strongly as the real votes
    as_strong: int
    #: the adjusted Rand index with the groups that were found, over people who have one in both
    agreement: float


@dataclass(frozen=True, slots=True)
class Totals:
    """The size of a conversation."""

    participants: int = 0
    #: participants with enough votes to be in a group
    grouped: int = 0
    votes: int = 0
    #: comments that moderation did not exclude
    comments: int = 0
    #: comments that moderation excluded
    comments_out: int = 0
    authors: int = 0
    #: comments with votes, excluded or not
    comments_voted_on: int = 0
    #: the votes on comments that are not excluded
    votes_shown: int = 0

    @property
    def votes_per_participant(self) -> float:
        """The mean number of votes per participant."""
        return self.votes / self.participants if self.participants else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """The results about a conversation, for maps and reports."""

    conversation_id: str
    title: str
    description: str
    totals: Totals
    groups: tuple[Group, ...]
    #: by comment id, ascending
    statements: Mapping[int, Statement]
    #: comments that most participants agree with, or disagree with, clearest first
    agreed: tuple[int, ...]
    disagreed: tuple[int, ...]
    #: the topics of each layer, finest first
    topics: tuple[tuple[Topic, ...], ...]
    #: the layer that is shown first
    main_layer: int
    #: the positions of participants on their map, and the index of their groups in `groups`, -1 without one
    people: Floats
    people_groups: Ints
    #: how the groups were found
    mode: Mode
    replayed: bool
    order: Order = "reading"
    #: the share of words in the embedding model's vocabulary, if known, and whether topics are based on words and votes instead
    known_words: float | None = None
    from_words: bool = False
    certainty: Certainty = Certainty()
    participation: Participation = field(default_factory=Participation)
    #: how the groups formed over time; empty if it was not computed, or if all votes have the same time
    moments: tuple[Moment, ...] = ()
    #: comments that moderators have marked as being about participants (`is_meta`); they are not among the statements
    meta: tuple[Statement, ...] = ()
    #: comments that may be about their authors; moderators decide
    suggested: tuple[Suggestion, ...] = ()
    #: the groups without the suggested comments; None if they were not computed
    without: Alternative | None = None

    def topic(self, key: str) -> Topic | None:
        """The topic with a key."""
        return next((topic for layer in self.topics for topic in layer if topic.key == key), None)

    @property
    def unchecked_names(self) -> str:
        """A sentence for readers if a model wrote names of topics; empty if none did."""
        models = sorted({topic.naming.by for layer in self.topics for topic in layer if topic.naming.is_by_model})
        return f"Names of topics were written by a model, not checked ({', '.join(models)})." if models else ""

    def of_topic(self, topic: Topic) -> list[Statement]:
        """The comments of a topic, most votes first."""
        found = [self.statements[number] for number in topic.comments if number in self.statements]
        return sorted(found, key=lambda statement: (-statement.everybody.votes, statement.comment_id))

    def motto(self, group: Group) -> str:
        """A short characterization of a group: its most representative comment and its side; empty if it has none."""
        known = [one for one in group.representatives if one.comment_id in self.statements]
        if not known:
            return ""
        best = next((one for one in known if one.best_agree), known[0])
        words = " ".join(self.statements[best.comment_id].body.split())
        shown = words if len(words) <= _LONGEST_MOTTO else f"{words[:_LONGEST_MOTTO].rsplit(' ', 1)[0]}…"
        return f"{'for' if best.side == 'agree' else 'against'} “{shown}”"

    def bridging(self) -> list[Statement]:
        """Comments that a majority of every group agrees with, beyond chance; clearest first."""
        return [statement for statement in self.bridges() if least_bound(statement) > 0.5]

    def bridges(self) -> list[Statement]:
        """Comments with enough votes in every group, by the lower bound in the group that agrees least."""
        known = [one for one in self.statements.values() if one.groups and all(count.enough for count in one.groups)]
        return sorted(known, key=lambda one: (-least_bound(one), one.comment_id))

    def divisive(self) -> list[Statement]:
        """Comments with enough votes with which a majority of one group agrees and one of another disagrees; most divisive first."""
        found = [statement for statement in self.statements.values() if _splits(statement)]
        return sorted(found, key=lambda statement: (-round(statement.divisiveness, 9), statement.comment_id))

    def uncertain(self) -> list[Statement]:
        """Comments that at least a fifth of voters passed on, with enough votes; highest share of passes first."""
        found = [one for one in self.statements.values() if one.everybody.enough and one.everybody.share("pass") >= UNSURE_SHARE]
        return sorted(found, key=lambda statement: (-statement.everybody.share("pass"), -statement.everybody.votes, statement.comment_id))


def shown_representatives(representatives: Iterable[Representative]) -> tuple[Representative, ...]:
    """The representative comments of a group that are shown: with enough votes of the group, not all of which are passes."""
    voted = (one for one in representatives if one.n_trials >= ENOUGH_VOTES)
    return tuple(one for one in voted if (one.agrees if one.side == "agree" else one.disagrees))


def least_bound(statement: Statement) -> float:
    """The lower bound of the share that agrees, in the group that agrees least."""
    return min(count.interval("agree")[0] for count in statement.groups)


def _splits(statement: Statement) -> bool:
    sides = {count.side for count in statement.groups if count.enough and max(count.share("agree"), count.share("disagree")) > 0.5}
    return {"agree", "disagree"} <= sides


def find(conversation: Conversation, opinions: Opinions, topics: Topics | None = None) -> Findings:
    """Collect the findings of a conversation. Without topics there is no map of comments and no section on topics."""
    kept = [comment for comment in conversation.comments if comment.comment_id not in opinions.moderation.out]
    places = {int(number): place for place, number in enumerate(opinions.matrix.comments.tolist())}
    where = topic_fields(topics)
    ids, sizes = opinions.groups.groups.clusters.ids.tolist(), opinions.tallies.group_sizes.tolist()
    rows = [row for row, size in enumerate(sizes) if size >= LEAST_SHOWN]
    place_of = {ids[row]: place for place, row in enumerate(rows)}
    statements = {
        comment.comment_id: _statement(comment, places.get(comment.comment_id), opinions, rows, where.get(comment.comment_id, {}))
        for comment in sorted(kept, key=lambda comment: comment.comment_id)
    }
    labels = opinions.groups.group_of(len(opinions.matrix.participants))
    return Findings(
        conversation_id=conversation.conversation_id,
        title=conversation.topic or conversation.conversation_id,
        description=conversation.description,
        totals=_totals(conversation.comments, kept, opinions),
        groups=tuple(
            Group(ids[row], place, sizes[row], shown_representatives(opinions.representatives.get(ids[row], ())))
            for place, row in enumerate(rows)
        ),
        statements=statements,
        agreed=with_enough_votes((shared.comment_id for shared in opinions.consensus.agree), statements),
        disagreed=with_enough_votes((shared.comment_id for shared in opinions.consensus.disagree), statements),
        topics=shown_topics(topics, conversation.comments, statements),
        main_layer=0 if topics is None else topics.layers.steadiest,
        people=opinions.positions[:, :2] if opinions.positions.shape[1] > 1 else np.pad(opinions.positions, ((0, 0), (0, 1))),
        people_groups=np.array([place_of.get(int(label), -1) for label in labels], dtype=np.int64),
        mode=opinions.config.mode,
        replayed=opinions.config.replay,
        order=opinions.config.order,
        known_words=None if topics is None else topics.known_words,
        from_words=topics is not None and topics.model == "words",
        certainty=Certainty(
            None if opinions.stability is None else opinions.stability.overall,
            opinions.chance.draws,
            opinions.chance.as_strong,
            opinions.division,
        ),
        participation=participation_of(conversation.counted_votes(opinions.config.max_votes), statements),
        meta=tuple(_statement(one, places.get(one.comment_id), opinions, [], {}) for one in meta_comments(conversation)),
    )


def meta_comments(conversation: Conversation) -> list[Comment]:
    """The comments that moderators have marked as being about participants, and not rejected, by id."""
    return sorted((one for one in conversation.comments if one.is_meta and one.moderated != -1), key=lambda one: one.comment_id)


def with_enough_votes(numbers: Iterable[int], statements: Mapping[int, Statement]) -> tuple[int, ...]:
    """The comments that are shown and have enough votes."""
    return tuple(number for number in numbers if number in statements and statements[number].everybody.enough)


def _totals(comments: Iterable[Comment], kept: list[Comment], opinions: Opinions) -> Totals:
    every = list(comments)
    return Totals(
        participants=len(opinions.matrix.participants),
        grouped=int(opinions.inside.sum()),
        votes=len(opinions.matrix.rows),
        comments=len(kept),
        comments_out=len(every) - len(kept),
        authors=len({comment.author_id for comment in kept if comment.author_id is not None}),
        comments_voted_on=len(opinions.matrix.comments),
        votes_shown=int(opinions.tallies.everybody.seen[~opinions.out].sum()),
    )


def shown_topics(topics: Topics | None, comments: Iterable[Comment], statements: Mapping[int, Statement]) -> tuple[tuple[Topic, ...], ...]:
    """The topics without words that occur only in comments that are not among the statements."""
    if topics is None:
        return ()
    hidden = [comment.body for comment in comments if comment.comment_id not in statements]
    return redact(topics.topics, hidden, (statement.body for statement in statements.values()))


def topic_fields(topics: Topics | None) -> dict[int, dict[str, Any]]:
    """The topics and position of each comment, and whether it is an outlier."""
    found: dict[int, dict[str, Any]] = {}
    if topics is None:
        return found
    for row, number in enumerate(topics.comment_ids.tolist()):
        labels = [int(layer.labels[row]) for layer in topics.layers.layers]
        keys = tuple(f"layer{layer}_{label}" for layer, label in enumerate(labels) if label >= 0)
        x, y = topics.positions[row, :2].tolist()
        found[number] = {"topics": keys, "position": None if np.isnan(x) else (x, y), "outlier": bool(topics.layers.outliers[row])}
    return found


def _statement(comment: Comment, place: int | None, opinions: Opinions, rows: list[int], where: dict[str, Any]) -> Statement:
    if place is None:
        return Statement(comment.comment_id, comment.body, Count(), (Count(),) * len(rows), **where)
    return Statement(
        comment.comment_id,
        comment.body,
        _count(opinions.tallies.everybody, place),
        tuple(_count(opinions.tallies.groups, (row, place)) for row in rows),
        float(opinions.group_aware_consensus[place]),
        float(opinions.normalised_consensus[place]),
        float(opinions.divisiveness.values[place]),
        **where,
    )


def _count(tally: Tally, place: Any) -> Count:
    return Count(int(tally.agrees[place]), int(tally.disagrees[place]), int(tally.passes[place]))
