"""The same topic in another run: matched by the comments that both have, and by meaning where there are too few of those."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gateleg.apps.delphi.conversations.votes import Floats

#: The least share of common comments, of all that either topic has and both runs know.
_FEWEST_COMMON = 0.3
#: The least cosine of the middles of topics that have no comments in common to go by.
_NEAREST = 0.8


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """What a topic is recognised by."""

    #: unique in its run
    key: str
    comments: frozenset[int]
    #: of length 1
    centroid: Floats
    #: what the topic is known as through all runs; empty before it is known
    identity: str = ""


@dataclass(frozen=True, slots=True)
class Match:
    """A topic of an earlier run that is the same as one of a later run, and what that rests on."""

    before: str
    after: str
    by: Literal["comments", "meaning"]
    #: common comments as a share, or the cosine of the middles
    strength: float


def match_topics(before: Sequence[Sketch], after: Sequence[Sketch]) -> list[Match]:
    """The topics that two runs have in common, each at most once, the surest first. Give the topics of one layer, or those of all.

    Only comments that both runs know count, so a topic that has grown is still the same. Topics in different models' spaces are matched by
    their comments only.
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
    """For each topic by key what it is known as: as in the earlier run if it was there, else a new identity from its first comments."""
    named = {sketch.key: sketch.identity for sketch in before}
    found = {match.after: named[match.before] for match in match_topics(before, after) if named[match.before]}
    taken = set(named.values())
    for sketch in after:
        if sketch.key not in found:
            found[sketch.key] = _new_identity(sketch, taken)
            taken.add(found[sketch.key])
    return found


def _new_identity(sketch: Sketch, taken: set[str]) -> str:
    """A short text that is the same whenever the same comments make a topic for the first time."""
    words = ",".join(map(str, sorted(sketch.comments)))
    for attempt in range(1_000):
        identity = blake2b(f"{attempt}:{words}".encode(), digest_size=6).hexdigest()
        if identity not in taken:
            return identity
    raise AssertionError("a thousand identities in a row are taken")
