"""Suggests which comments describe their authors ("I am over 60") rather than state an opinion, for moderators to decide.

A comment is suggested if its vector is nearer to sentences in which people describe themselves than to sentences of opinion, by a margin
that `bench/delphi_self_descriptions.py` fits on some conversations and judges on others. The nearest of these sentences is the reason that
moderators see. A suggestion alone removes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from gateleg.ai import Models

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from gateleg.ai import Embeddings
    from gateleg.apps.delphi.conversations.conversation import Comment

#: `identity` is what a few people could be recognized by: sex, age, origin, health. `life` is everything else about oneself.
Kind = Literal["identity", "life"]
#: Sentences in which people describe themselves, none of them from a conversation.
_DESCRIPTIONS: dict[Kind, tuple[str, ...]] = {
    "identity": (
        "I am 34 years old.",
        "I am over sixty.",
        "I am a woman.",
        "I identify as male.",
        "I belong to an ethnic minority.",
        "I was born abroad.",
        "I have a disability.",
        "I have had this illness.",
        "I am religious.",
        "I am married.",
    ),
    "life": (
        "I live in a city.",
        "I live in the countryside.",
        "I moved here ten years ago.",
        "I grew up here.",
        "My family lives here.",
        "I have children.",
        "I work as a nurse.",
        "I am a student.",
        "I own my home.",
        "I rent a flat.",
        "My income is low.",
        "I own a shop.",
        "I voted in the last election.",
        "I have been to a meeting about this.",
        "I take the train every day.",
        "I often use this service.",
        "I have studied this subject.",
        "I know how this works.",
        "I speak two languages.",
        "I help out in a club.",
    ),
}
#: Sentences of opinion, on similar subjects and also in the first person.
_OPINIONS = (
    "This is a good idea.",
    "The council should do more.",
    "The government must act.",
    "Taxes are too high.",
    "There should be more housing.",
    "Nature should be protected.",
    "I think this is wrong.",
    "I support this plan.",
    "I oppose the new airport.",
    "I do not trust the authorities.",
    "I am worried about prices.",
    "I would like more parks.",
    "I want better hospitals.",
    "I believe in fairness.",
    "I feel that it should stop.",
    "People should have a choice.",
    "It costs too much.",
    "Everybody should have a vote.",
    "Women should be paid the same.",
    "Farmers should earn more.",
    "Young people should be heard.",
    "Old people need support.",
    "The town needs trains.",
    "We waste too much.",
    "Our museums deserve more money.",
    "I am in favour of change.",
    "I prefer the old system.",
    "I am concerned about safety.",
    "My rights matter.",
    "Owners should pay more.",
)
#: By how much the mean cosine with the nearest descriptions must exceed that with the nearest opinions, and how many nearest ones count.
MARGIN = 0.09
_NEAREST = 3
#: The only model that the margin is fitted for.
MODEL = "local:minilm"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A comment that may describe its author, and why."""

    comment_id: int
    kind: Kind
    #: the description that it is nearest to
    like: str
    #: by how much it is nearer to descriptions than to opinions
    margin: float

    @property
    def reason(self) -> str:
        """The reason in words."""
        return f"It resembles “{self.like}” more than any opinion (by {self.margin:.2f}; {MARGIN:.2f} is needed)."


def suggest(comments: Iterable[Comment], embeddings: Embeddings) -> tuple[Suggestion, ...]:
    """The comments that may describe their authors. Rejected and meta comments, and comments without text, are left out."""
    listed = [one for one in comments if one.moderated != -1 and not one.is_meta and one.body.strip()]
    if embeddings.model != MODEL or not listed:
        return ()
    vectors = np.asarray(embeddings.embed([one.body for one in listed]), dtype=np.float32)
    return suggest_by_vectors([one.comment_id for one in listed], vectors, embeddings.model)


def suggest_by_vectors(ids: Sequence[int], vectors: NDArray[np.float32], model: str) -> tuple[Suggestion, ...]:
    """The comments that may describe their authors, by their vectors. None for models that the margin is not fitted for."""
    if model != MODEL or not np.any(vectors):
        return ()
    margins, nearest = margins_of(vectors)
    sentences = _sentences()
    return tuple(
        Suggestion(int(number), sentences[nearest[row]][0], sentences[nearest[row]][1], round(float(margins[row]), 4))
        for row, number in enumerate(ids)
        if round(float(margins[row]), 4) >= MARGIN
    )


def margins_of(vectors: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """By how much each vector is nearer to descriptions than to opinions, and the index of the nearest description."""
    descriptions, opinions = _prototypes()
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.asarray(vectors, dtype=np.float64) / np.maximum(lengths, 1e-9)
    of_descriptions, of_opinions = units @ descriptions.T, units @ opinions.T
    # Comments without text have no vector, and margin 0.
    return _nearest_mean(of_descriptions) - _nearest_mean(of_opinions), of_descriptions.argmax(axis=1).astype(np.int64)


def _nearest_mean(cosines: NDArray[np.float64]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.sort(cosines, axis=1)[:, -_NEAREST:].mean(axis=1)
    return found


@lru_cache(maxsize=1)
def _sentences() -> tuple[tuple[Kind, str], ...]:
    return tuple((kind, sentence) for kind, sentences in _DESCRIPTIONS.items() for sentence in sentences)


@lru_cache(maxsize=1)
def _prototypes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    with Models() as models:
        embed = models.embeddings(MODEL).embed
        descriptions = embed([sentence for _, sentence in _sentences()])
        return np.asarray(descriptions, dtype=np.float64), np.asarray(embed(list(_OPINIONS)), dtype=np.float64)
