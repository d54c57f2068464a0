"""Compares the topics of two runs: kept, split, merged, new or gone. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.delphi.topics.stage import Topic

#: The minimum share of a topic's comments that must be in another topic for it to come from that one, or to go into it.
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class TopicChange:
    """The change of one or several topics, given by key."""

    kind: Literal["kept", "split", "merged", "new", "gone"]
    before: tuple[str, ...]
    after: tuple[str, ...]
    #: the number of comments on both sides
    comments: int


def compare_topics(before: Sequence[Topic], after: Sequence[Topic]) -> list[TopicChange]:
    """The changes from the topics of one layer to those of another: first kept topics, then splits, merges, new and gone topics.

    A topic is kept if it has the same identity in both runs, or if it went into one topic that comes from it alone. Only comments that are
    in both runs count.
    """
    known = _comments(before) & _comments(after)
    sources = {new.key: _nearest(new, before, known) for new in after}
    targets = {old.key: _nearest(old, after, known) for old in before}
    kept = _kept_pairs(before, after, sources, targets)
    old_kept, new_kept = {old.key for old, _ in kept}, {new.key for _, new in kept}
    parts = {old.key: [new for new in after if new.key not in new_kept and sources[new.key] == old.key] for old in before}
    # A topic is split if it has at least two parts, one of which may be its kept successor.
    splits = [_split(old, parts[old.key]) for old in before if len(parts[old.key]) > (old.key not in old_kept)]
    split = {key for change in splits for key in change.after}
    rest = [old for old in before if old.key not in old_kept and not any(old.key in change.before for change in splits)]
    merges = [_merged([old for old in rest if targets[old.key] == new.key], new) for new in after if new.key not in split]
    merged = {key for change in merges for key in change.before}
    grown = {change.after[0] for change in merges if change.before}
    return [
        *(TopicChange("kept", (old.key,), (new.key,), _shared([old], [new])) for old, new in kept),
        *splits,
        *(change for change in merges if change.before),
        *(TopicChange("new", (), (new.key,), 0) for new in after if new.key not in new_kept | split | grown),
        *(TopicChange("gone", (old.key,), (), 0) for old in rest if old.key not in merged),
    ]


def _kept_pairs(
    before: Sequence[Topic], after: Sequence[Topic], sources: Mapping[str, str | None], targets: Mapping[str, str | None]
) -> list[tuple[Topic, Topic]]:
    """Pairs of topics with the same identity; and of the others, pairs that are each other's only counterpart."""
    by_identity = {topic.identity: topic for topic in before if topic.identity}
    kept = [(by_identity[topic.identity], topic) for topic in after if topic.identity in by_identity]
    used = {topic.key for pair in kept for topic in pair[:1]}, {topic.key for pair in kept for topic in pair[1:]}
    for old in before:
        parts = [new for new in after if sources[new.key] == old.key and new.key not in used[1]]
        if old.key not in used[0] and len(parts) == 1 and [key for key, new in targets.items() if new == parts[0].key] == [old.key]:
            kept.append((old, parts[0]))
    return kept


def _comments(topics: Sequence[Topic]) -> set[int]:
    return {number for topic in topics for number in topic.comments}


def _nearest(topic: Topic, others: Sequence[Topic], known: set[int]) -> str | None:
    """The key of the topic that contains most of the comments of `topic`."""
    own = set(topic.comments) & known
    best = max(others, key=lambda other: len(own & set(other.comments)), default=None)
    return None if best is None or not own or len(own & set(best.comments)) < _MOST * len(own) else best.key


def _split(old: Topic, parts: Sequence[Topic]) -> TopicChange:
    return TopicChange("split", (old.key,), tuple(new.key for new in parts), _shared([old], parts))


def _merged(parts: Sequence[Topic], new: Topic) -> TopicChange:
    return TopicChange("merged", tuple(old.key for old in parts), (new.key,), _shared(parts, [new]))


def _shared(before: Sequence[Topic], after: Sequence[Topic]) -> int:
    return len(_comments(before) & _comments(after))
