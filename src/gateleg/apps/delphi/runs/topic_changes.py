"""What has become of topics from one run to another: kept, split, merged, new or gone. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.delphi.topics.stage import Topic

#: The share of its comments that a topic must have from another one, or leave to it, to be said to come from it or to go into it.
_MOST = 0.5


@dataclass(frozen=True, slots=True)
class TopicChange:
    """What has become of one topic, or of some; topics are told by their keys."""

    kind: Literal["kept", "split", "merged", "new", "gone"]
    before: tuple[str, ...]
    after: tuple[str, ...]
    #: comments that both sides have
    comments: int


def compare_topics(before: Sequence[Topic], after: Sequence[Topic]) -> list[TopicChange]:
    """The changes from the topics of one layer to those of another: those that are kept first, then splits, merges, what is new and gone.

    A topic is kept when it is known as the same in both runs, or has gone into one other that comes from it alone. Only comments that
    both runs know count.
    """
    known = _comments(before) & _comments(after)
    sources = {new.key: _nearest(new, before, known) for new in after}
    targets = {old.key: _nearest(old, after, known) for old in before}
    kept = _kept(before, after, sources, targets)
    old_kept, new_kept = {old.key for old, _ in kept}, {new.key for _, new in kept}
    parts = {old.key: [new for new in after if new.key not in new_kept and sources[new.key] == old.key] for old in before}
    # One part of a topic that was not kept is a split only where something else of it was left.
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


def _kept(
    before: Sequence[Topic], after: Sequence[Topic], sources: Mapping[str, str | None], targets: Mapping[str, str | None]
) -> list[tuple[Topic, Topic]]:
    """Topics that are known as the same; and of the others, pairs of which each is nearest to the other and to no third one."""
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
    """The topic that has most of another one's comments."""
    own = set(topic.comments) & known
    best = max(others, key=lambda other: len(own & set(other.comments)), default=None)
    return None if best is None or not own or len(own & set(best.comments)) < _MOST * len(own) else best.key


def _split(old: Topic, parts: Sequence[Topic]) -> TopicChange:
    return TopicChange("split", (old.key,), tuple(new.key for new in parts), _shared([old], parts))


def _merged(parts: Sequence[Topic], new: Topic) -> TopicChange:
    return TopicChange("merged", tuple(old.key for old in parts), (new.key,), _shared(parts, [new]))


def _shared(before: Sequence[Topic], after: Sequence[Topic]) -> int:
    return len(_comments(before) & _comments(after))
