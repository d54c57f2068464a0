"""The comments stage: a pure function from comments to topics, a map and a graph of neighbours.

    topics = analyse_comments(conversation.comments, models.embeddings(), TopicsConfig())

The entries of arrays belong to `topics.comment_ids`, which are ascending.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.opinions.moderation import Moderation
from gateleg.apps.delphi.topics.comment_map import project
from gateleg.apps.delphi.topics.config import MapConfig, TopicsConfig
from gateleg.apps.delphi.topics.covoting import with_votes
from gateleg.apps.delphi.topics.identity import Sketch, identities
from gateleg.apps.delphi.topics.keywords import Keyword, TokenizedTexts, keywords_of
from gateleg.apps.delphi.topics.layers import Layers, find_layers
from gateleg.apps.delphi.topics.names import Naming, NamingInput, name_topics
from gateleg.apps.delphi.topics.neighbours import Edge, edges
from gateleg.apps.delphi.topics.phrases import mostly_negated, phrases_in, phrases_of
from gateleg.apps.delphi.topics.self_descriptions import Suggestion, suggest_by_vectors
from gateleg.apps.delphi.topics.words import LEAST_KNOWN, WORDS, known_share, word_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from gateleg.ai import Chat, Embeddings
    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.conversations.votes import Floats, Ints, Votes

#: The number of central comments that represent a topic.
MOST_EXAMPLES = 5
#: The minimum cosine of a name with the centroid of its topic, and by how much that with another topic may be larger.
_LEAST_FIT = 0.25
_FIT_MARGIN = 0.05
#: The batch size of embedding; small, so that progress is visible.
_TEXTS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and its comments."""

    layer: int
    number: int
    comments: tuple[int, ...]
    naming: Naming
    keywords: tuple[Keyword, ...]
    #: its most central comments, most central first
    examples: tuple[int, ...]
    #: the median position of its comments on the map
    position: tuple[float, float]
    #: the keys of its parent in the next layer, and of its children in the previous one
    parent: str | None
    children: tuple[str, ...]
    #: the same in all runs
    identity: str

    @property
    def key(self) -> str:
        """Its layer and number, unique in a run."""
        return topic_key(self.layer, self.number)

    @property
    def name(self) -> str:
        """The current name."""
        return self.naming.name


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """The results of analysing the comments of a conversation."""

    config: TopicsConfig
    #: the model of the vectors; `words` if the embedding model does not know the language
    model: str
    comment_ids: Ints
    vectors: NDArray[np.float32]
    #: the position of each comment on the map; NaN for comments without text
    positions: Floats
    layers: Layers
    #: the topics of each layer, by number
    topics: tuple[tuple[Topic, ...], ...]
    edges: tuple[Edge, ...]
    #: the share of words that are in the embedding model's vocabulary, if the model tells
    known_words: float | None = None
    #: comments that may describe their authors
    suggested: tuple[Suggestion, ...] = ()

    def find(self, key: str) -> Topic | None:
        """The topic with a key."""
        return next((topic for layer in self.topics for topic in layer if topic.key == key), None)

    def route(self, vector: NDArray[np.float32]) -> tuple[Topic, ...]:
        """The topics of a new comment, by its vector, finest first: the nearest topic of the finest layer and its ancestors."""
        if not self.topics or not np.linalg.norm(vector):
            return ()
        nearness = self.layers.layers[0].centroids @ np.asarray(vector, dtype=np.float64)
        found = [self.topics[0][int(np.round(nearness, 9).argmax())]]
        for layer in self.topics[1:]:
            found.append(next(topic for topic in layer if topic.key == found[-1].parent))
        return tuple(found)

    def sketches(self) -> list[Sketch]:
        """The features by which the topics are recognized in another run."""
        return [
            Sketch(topic.key, frozenset(topic.comments), self.layers.layers[topic.layer].centroids[topic.number], topic.identity)
            for layer in self.topics
            for topic in layer
        ]


def names_given_up(topics: Topics, why: str = "") -> dict[str, Any] | None:
    """How many topics the model that was to name them has not named; None if it has named some of them, or none was asked.

    A model is expected to fail sometimes: a name that is taken or does not fit is replaced. None at all means that it does not work.
    """
    every = [topic for layer in topics.topics for topic in layer]
    if topics.config.naming_model is None or not every or any(topic.naming.is_by_model for topic in every):
        return None
    return {"topics": len(every), "of": len(every), "why": why}


def topic_key(layer: int, number: int) -> str:
    """The key of a topic."""
    return f"layer{layer}_{number}"


def analyse_comments(
    comments: Iterable[Comment],
    embeddings: Embeddings,
    config: TopicsConfig | None = None,
    *,
    chat: Chat | None = None,
    votes: Callable[[], Votes] | None = None,
    known: Mapping[int, NDArray[np.float32]] | None = None,
    before: Sequence[Sketch] = (),
    report: Callable[[str, float], object] = lambda step, done: None,
) -> Topics:
    """Find the topics of comments. The order of the comments does not matter.

    `chat` names topics; without it, names are made of keywords. `known` has vectors that need not be computed again, by comment id, and
    `before` the topics of an earlier run. `report` is called with each step and its progress, and may raise to stop the analysis.

    If the local model does not know the language, vectors are made of words and of `votes`, which is called only then.

    Comments that moderation excludes have no vector and no topic, contribute to no keyword or name, and are not sent to any model.
    """
    config = config or TopicsConfig()
    listed = list(comments)
    out = Moderation.of(listed, config.excluded_comments).out
    kept = sorted((comment for comment in listed if comment.comment_id not in out), key=lambda comment: comment.comment_id)
    ids = np.array([comment.comment_id for comment in kept], dtype=np.int64)
    share = known_share(embeddings, [comment.body for comment in kept])
    foreign = share is not None and share < LEAST_KNOWN
    vectors = _from_words(kept, votes) if foreign else _embed(kept, embeddings, known or {}, report)
    report("layers", 0.0)
    layers = find_layers(vectors, config.topic_neighbors, config.max_layers)
    report("map", 0.0)
    positions = project(vectors, MapConfig(**{name: getattr(config, name) for name in MapConfig.model_fields}))
    report("graph", 0.0)
    pairs = edges(ids, vectors, config.graph_neighbors)
    report("names", 0.0)
    topics = _topics(kept, layers, positions, None if foreign else embeddings, chat, before, report)
    suggested = () if foreign else suggest_by_vectors(ids.tolist(), vectors, embeddings.model)
    model = WORDS if foreign else embeddings.model
    return Topics(config, model, ids, vectors, positions, layers, topics, tuple(pairs), share, suggested)


def _from_words(comments: Sequence[Comment], votes: Callable[[], Votes] | None) -> NDArray[np.float32]:
    """A vector for each comment, made of its words and, if given, of the votes on it."""
    vectors = word_vectors([comment.body for comment in comments])
    return vectors if votes is None else with_votes(vectors, votes(), [comment.comment_id for comment in comments])


def _embed(
    comments: Sequence[Comment], embeddings: Embeddings, known: Mapping[int, NDArray[np.float32]], report: Callable[[str, float], object]
) -> NDArray[np.float32]:
    """A vector for each comment; zeros for comments without text. Each text is embedded once."""
    report("embeddings", 0.0)
    texts = [comment.body.strip() for comment in comments]
    wanted = sorted({text for text, comment in zip(texts, comments, strict=True) if text and comment.comment_id not in known})
    found: dict[str, NDArray[np.float32]] = {}
    for start in range(0, len(wanted), _TEXTS_AT_ONCE):
        batch = wanted[start : start + _TEXTS_AT_ONCE]
        found.update(zip(batch, embeddings.embed(batch), strict=True))
        report("embeddings", (start + len(batch)) / len(wanted))
    size = next((len(vector) for vector in (*found.values(), *known.values())), 1)
    vectors = np.zeros((len(comments), size), dtype=np.float32)
    for row, (text, comment) in enumerate(zip(texts, comments, strict=True)):
        if text:
            vectors[row] = known[comment.comment_id] if comment.comment_id in known else found[text]
    return vectors


def _topics(
    comments: Sequence[Comment],
    layers: Layers,
    positions: Floats,
    embeddings: Embeddings | None,
    chat: Chat | None,
    before: Sequence[Sketch],
    report: Callable[[str, float], object],
) -> tuple[tuple[Topic, ...], ...]:
    tokenized = TokenizedTexts.of([comment.body for comment in comments])
    drafts = [draft for layer in range(len(layers.layers)) for draft in _drafts(comments, tokenized, layers, layer)]
    # Coarse topics are named first, because fewer names fit them.
    order = sorted(range(len(drafts)), key=lambda place: (-drafts[place].layer, drafts[place].number))
    bodies = {comment.comment_id: comment.body for comment in comments}
    rows = {comment.comment_id: row for row, comment in enumerate(comments)}
    unnamed = [
        NamingInput(
            [word.term for word in drafts[place].keywords],
            [bodies[number] for number in drafts[place].examples],
            drafts[place].phrases,
            [word.term for word in drafts[place].keywords if word.comments > 1],
            next(filter(None, (phrases_in(tokenized, rows[number]) for number in drafts[place].examples)), ()),
        )
        for place in order
    ]

    def fits(place: int, name: str) -> bool:
        draft = drafts[order[place]]
        if mostly_negated(name, (bodies[number] for number in draft.comments), tokenized.stops):
            return False
        # Without a model for the language, the meaning of a name cannot be checked.
        return embeddings is None or _fits(embeddings.embed([name])[0], layers.layers[draft.layer].centroids, draft.number)

    named = name_topics(unnamed, chat, lambda count: report("names", count / max(1, len(unnamed))), fits)
    namings = dict(zip(order, named, strict=True))
    sketches = [Sketch(draft.key, frozenset(draft.comments), draft.centroid) for draft in drafts]
    identity_of = identities(sketches, before)
    found: list[list[Topic]] = [[] for _ in layers.layers]
    for place, draft in enumerate(drafts):
        found[draft.layer].append(
            Topic(
                draft.layer,
                draft.number,
                draft.comments,
                namings[place],
                draft.keywords,
                draft.examples,
                _middle(positions[draft.rows]),
                *_parent_and_children(layers, draft.layer, draft.number),
                identity=identity_of[draft.key],
            )
        )
    return tuple(map(tuple, found))


def _fits(name: NDArray[np.float32], centroids: Floats, topic: int) -> bool:
    """Whether a name is close enough to the centroid of its topic, and not clearly closer to another topic of the layer."""
    nearness = centroids @ np.asarray(name, dtype=np.float64)
    return bool(nearness[topic] >= _LEAST_FIT and nearness[topic] >= nearness.max() - _FIT_MARGIN)


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """A topic without a name."""

    layer: int
    number: int
    rows: Ints
    comments: tuple[int, ...]
    keywords: tuple[Keyword, ...]
    phrases: tuple[str, ...]
    examples: tuple[int, ...]
    centroid: Floats

    @property
    def key(self) -> str:
        return topic_key(self.layer, self.number)


def _drafts(comments: Sequence[Comment], tokenized: TokenizedTexts, layers: Layers, number: int) -> list[_Draft]:
    layer = layers.layers[number]
    words = keywords_of(tokenized, layer.labels.tolist(), layer.topics)
    phrases = phrases_of(tokenized, layer.labels.tolist(), layer.topics)
    found = []
    for topic in range(layer.topics):
        rows = layer.members(topic)
        found.append(
            _Draft(
                number,
                topic,
                rows,
                tuple(comments[row].comment_id for row in rows),
                words[topic],
                phrases[topic],
                _examples(comments, rows, layer.distances),
                layer.centroids[topic],
            )
        )
    return found


def _examples(comments: Sequence[Comment], rows: Ints, distances: Floats) -> tuple[int, ...]:
    """The most central comments, without repeated texts."""
    ordered = sorted(rows.tolist(), key=lambda row: (round(float(distances[row]), 9), comments[row].comment_id))
    seen: set[str] = set()
    found: list[int] = []
    for row in ordered:
        text = comments[row].body.strip().casefold()
        if text not in seen and len(found) < MOST_EXAMPLES:
            seen.add(text)
            found.append(comments[row].comment_id)
    return tuple(found)


def _middle(positions: Floats) -> tuple[float, float]:
    middle = np.median(positions, axis=0)
    return float(middle[0]), float(middle[1])


def _parent_and_children(layers: Layers, layer: int, number: int) -> tuple[str | None, tuple[str, ...]]:
    parents = layers.layers[layer].parents
    parent = topic_key(layer + 1, int(parents[number])) if len(parents) else None
    children: Any = np.flatnonzero(layers.layers[layer - 1].parents == number).tolist() if layer else []
    return parent, tuple(topic_key(layer - 1, child) for child in children)
