"""Recognizes the same topic in another run, by common comments or, if there are too few, by meaning."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gateleg.apps.delphi.conversations.votes import Floats

#: The minimum Jaccard index of the comments of two topics, counting only comments that both runs have.
_FEWEST_COMMON = 0.3
#: The minimum cosine of the centroids of topics that are not matched by comments.
_NEAREST = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """The features by which a topic is recognized."""

    #: unique in its run
    key: str
    comments: frozenset[int]
    #: of length 1
    centroid: Floats
    #: the topic's identity, the same in all runs; empty before it is assigned
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A topic of an earlier run that is the same as one of a later run."""

    before: str
    after: str
    by: Literal["comments", "meaning"]
    #: the Jaccard index of the comments, or the cosine of the centroids
    strength: float


def match_topics(before: Sequence[Sketch], after: Sequence[Sketch]) -> list[Match]:
    """Match the topics of two runs, each at most once, the most certain first. Pass the topics of one layer, or of all.

    Only comments that both runs have count, so a topic that has grown is still the same. If the vectors come from different models, only
    comments count.
    """
    known = _union(before) & _union(after)
    by_comments = [
        (_shared(old.comments & known, new.comments & known), old.key, new.key)
        for old in before
        for new in after
        if old.comments & new.comments
    ]
    found = _greedy(by_comments, _FEWEST_COMMON, "comments", set(), set())
    used_before, used_after = {match.before for match in found}, {match.after for match in found}
    by_meaning = [
        (_cosine(old, new), old.key, new.key) for old in before if old.key not in used_before for new in after if new.key not in used_after
    ]
    return [*found, *_greedy(by_meaning, _NEAREST, "meaning", used_before, used_after)]


def _union(sketches: Iterable[Sketch]) -> frozenset[int]:
    return frozenset().union(*(sketch.comments for sketch in sketches))


def _shared(one: frozenset[int], other: frozenset[int]) -> float:
    return len(one & other) / len(one | other)


def _cosine(one: Sketch, other: Sketch) -> float:
    return float(np.dot(one.centroid, other.centroid)) if len(one.centroid) == len(other.centroid) else -1.0


def _greedy(
    scored: list[tuple[float, str, str]], least: float, by: Literal["comments", "meaning"], used_before: set[str], used_after: set[str]
) -> list[Match]:
    found = []
    for score, old, new in sorted(scored, key=lambda entry: (-round(entry[0], 9), entry[1], entry[2])):
        if score >= least and old not in used_before and new not in used_after:
            used_before.add(old)
            used_after.add(new)
            found.append(Match(old, new, by, score))
    return found


def identities(after: Sequence[Sketch], before: Sequence[Sketch] = ()) -> Mapping[str, str]:
    """The identity of each topic, by key: that of the same topic in the earlier run, or else a new one."""
    named = {sketch.key: sketch.identity for sketch in before}
    found = {match.after: named[match.before] for match in match_topics(before, after) if named[match.before]}
    taken = set(named.values())
    for sketch in after:
        if sketch.key not in found:
            found[sketch.key] = _new_identity(sketch, taken)
            taken.add(found[sketch.key])
    return found


def _new_identity(sketch: Sketch, taken: set[str]) -> str:
    """A short hash of the topic's comments."""
    words = ",".join(map(str, sorted(sketch.comments)))
    for attempt in range(1_000):
        identity = blake2b(f"{attempt}:{words}".encode(), digest_size=6).hexdigest()
        if identity not in taken:
            return identity
    raise AssertionError("1,000 candidate identities in a row are taken")
