"""The comments stage: from comments to topics, a map and a graph of neighbours, a pure function.

    topics = analyse_comments(conversation.comments, models.embeddings(), TopicsConfig())

Everything is arrays whose entries belong to `topics.comment_ids`, in that order, which is ascending.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.opinions.moderation import Moderation
from gateleg.apps.delphi.topics.config import MapConfig, TopicsConfig
from gateleg.apps.delphi.topics.covoting import with_votes
from gateleg.apps.delphi.topics.identity import Sketch, identities
from gateleg.apps.delphi.topics.keywords import Keyword, SpokenTexts, keywords_of
from gateleg.apps.delphi.topics.layering import Layers, find_layers
from gateleg.apps.delphi.topics.naming import Naming, Unnamed, name_topics
from gateleg.apps.delphi.topics.neighbours import Edge, edges
from gateleg.apps.delphi.topics.phrasing import phrases_in, phrases_of
from gateleg.apps.delphi.topics.projecting import project
from gateleg.apps.delphi.topics.words import LEAST_KNOWN, WORDS, known_share, word_vectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from gateleg.ai import Chat, Embeddings
    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.conversations.votes import Floats, Ints, Votes

#: Comments that stand for a topic.
MOST_EXAMPLES = 5
#: How near the meaning of a name must be to the middle of its topic, and how much nearer another topic may be.
_LEAST_FIT = 0.25
_FIT_MARGIN = 0.05
#: Few enough that progress is seen to be made.
_TEXTS_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Topic:
    """What some comments have in common."""

    layer: int
    number: int
    comments: tuple[int, ...]
    naming: Naming
    keywords: tuple[Keyword, ...]
    #: the comments in the middle of it, most central first
    examples: tuple[int, ...]
    #: the middle of its comments on the map
    position: tuple[float, float]
    #: the key of the topic in the next layer that holds it, and those of the topics in the layer before that it holds
    parent: str | None
    children: tuple[str, ...]
    #: what it is known as through all runs
    identity: str

    @property
    def key(self) -> str:
        """Its layer and number, unique in a run."""
        return topic_key(self.layer, self.number)

    @property
    def name(self) -> str:
        """What it is called."""
        return self.naming.name


@dataclass(frozen=True, slots=True, eq=False)
class Topics:
    """What the comments of a conversation are about."""

    config: TopicsConfig
    #: the model that the vectors come from
    model: str
    comment_ids: Ints
    vectors: NDArray[np.float32]
    #: where each comment lies on the map; NaN for those that say nothing
    positions: Floats
    layers: Layers
    #: the topics of each layer, by number
    topics: tuple[tuple[Topic, ...], ...]
    edges: tuple[Edge, ...]
    #: the share of words that the embedding model knows whole, where it tells; `model` is `words` where that is too small
    known_words: float | None = None

    def find(self, key: str) -> Topic | None:
        """The topic with a key."""
        return next((topic for layer in self.topics for topic in layer if topic.key == key), None)

    def route(self, vector: NDArray[np.float32]) -> tuple[Topic, ...]:
        """The topics that a new comment belongs to by its vector, finest first: the nearest of the finest layer, and those that hold it."""
        if not self.topics or not np.linalg.norm(vector):
            return ()
        nearness = self.layers.layers[0].centroids @ np.asarray(vector, dtype=np.float64)
        found = [self.topics[0][int(np.round(nearness, 9).argmax())]]
        for layer in self.topics[1:]:
            found.append(next(topic for topic in layer if topic.key == found[-1].parent))
        return tuple(found)

    def sketches(self) -> list[Sketch]:
        """What the topics are recognised by in another run."""
        return [
            Sketch(topic.key, frozenset(topic.comments), self.layers.layers[topic.layer].centroids[topic.number], topic.identity)
            for layer in self.topics
            for topic in layer
        ]


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
    """Find the topics of comments. The same comments give the same topics, in whatever order they come.

    `chat` names topics, keywords do without it. `known` has vectors by comment id that need not be computed again, `before` the topics of
    an earlier run. `report` is called with each step as it begins and how much of it is done, and may raise to end the analysis.

    Where the local model does not know the language, vectors come from the words that comments share, and from the `votes` on them, which
    are asked for only then.

    Comments that moderation takes out have no part in it: no vector, no topic, no word in a keyword or a name, and no model reads them.
    """
    config = config or TopicsConfig()
    listed = list(comments)
    out = Moderation.of(listed, config.excluded_comments).out
    kept = sorted((comment for comment in listed if comment.comment_id not in out), key=lambda comment: comment.comment_id)
    ids = np.array([comment.comment_id for comment in kept], dtype=np.int64)
    share = known_share(embeddings, [comment.body for comment in kept])
    foreign = share is not None and share < LEAST_KNOWN
    vectors = _from_words(kept, votes) if foreign else _embedded(kept, embeddings, known or {}, report)
    report("layers", 0.0)
    layers = find_layers(vectors, config.topic_neighbors, config.max_layers)
    report("map", 0.0)
    positions = project(vectors, MapConfig(**{name: getattr(config, name) for name in MapConfig.model_fields}))
    report("graph", 0.0)
    pairs = edges(ids, vectors, config.graph_neighbors)
    report("names", 0.0)
    topics = _topics(kept, layers, positions, None if foreign else embeddings, chat, before, report)
    return Topics(config, WORDS if foreign else embeddings.model, ids, vectors, positions, layers, topics, tuple(pairs), share)


def _from_words(comments: Sequence[Comment], votes: Callable[[], Votes] | None) -> NDArray[np.float32]:
    """A vector for each comment by its words and, where there are any, by the votes on it."""
    vectors = word_vectors([comment.body for comment in comments])
    return vectors if votes is None else with_votes(vectors, votes(), [comment.comment_id for comment in comments])


def _embedded(
    comments: Sequence[Comment], embeddings: Embeddings, known: Mapping[int, NDArray[np.float32]], report: Callable[[str, float], object]
) -> NDArray[np.float32]:
    """A vector for each comment, zeros for those without text. Each text is embedded once."""
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
    spoken = SpokenTexts.of([comment.body for comment in comments])
    drafts = [draft for layer in range(len(layers.layers)) for draft in _drafts(comments, spoken, layers, layer)]
    # Coarse topics choose their names first: there is less to choose from.
    order = sorted(range(len(drafts)), key=lambda place: (-drafts[place].layer, drafts[place].number))
    bodies = {comment.comment_id: comment.body for comment in comments}
    rows = {comment.comment_id: row for row, comment in enumerate(comments)}
    unnamed = [
        Unnamed(
            [word.term for word in drafts[place].keywords],
            [bodies[number] for number in drafts[place].examples],
            drafts[place].phrases,
            [word.term for word in drafts[place].keywords if word.comments > 1],
            next(filter(None, (phrases_in(spoken, rows[number]) for number in drafts[place].examples)), ()),
        )
        for place in order
    ]

    def fits(place: int, name: str) -> bool:
        draft = drafts[order[place]]
        # Without a model for the language nobody can say what a name means.
        return embeddings is None or _fits(embeddings.embed([name])[0], layers.layers[draft.layer].centroids, draft.number)

    named = name_topics(unnamed, chat, lambda count: report("names", count / max(1, len(unnamed))), fits)
    namings = dict(zip(order, named, strict=True))
    sketches = [Sketch(draft.key, frozenset(draft.comments), draft.centroid) for draft in drafts]
    known_as = identities(sketches, before)
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
                *_family(layers, draft.layer, draft.number),
                identity=known_as[draft.key],
            )
        )
    return tuple(map(tuple, found))


def _fits(name: NDArray[np.float32], centroids: Floats, topic: int) -> bool:
    """Whether a name means what its topic means, and no other topic of the layer clearly more so."""
    nearness = centroids @ np.asarray(name, dtype=np.float64)
    return bool(nearness[topic] >= _LEAST_FIT and nearness[topic] >= nearness.max() - _FIT_MARGIN)


@dataclass(frozen=True, slots=True, eq=False)
class _Draft:
    """A topic that has no name yet."""

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


def _drafts(comments: Sequence[Comment], spoken: SpokenTexts, layers: Layers, number: int) -> list[_Draft]:
    layer = layers.layers[number]
    words = keywords_of(spoken, layer.labels.tolist(), layer.topics)
    phrases = phrases_of(spoken, layer.labels.tolist(), layer.topics)
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
    """The most central comments, no text twice."""
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


def _family(layers: Layers, layer: int, number: int) -> tuple[str | None, tuple[str, ...]]:
    parents = layers.layers[layer].parents
    parent = topic_key(layer + 1, int(parents[number])) if len(parents) else None
    children: Any = np.flatnonzero(layers.layers[layer - 1].parents == number).tolist() if layer else []
    return parent, tuple(topic_key(layer - 1, child) for child in children)
