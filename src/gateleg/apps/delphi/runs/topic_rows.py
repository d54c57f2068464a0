"""Converts topics to the rows that are stored, and to the sketches that a later run compares. Pure."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.delphi.tables import (
    ClusterAssignment,
    ClusterKeywords,
    ClusterPlace,
    CommentEmbedding,
    Embedding,
    GraphEdge,
    Position,
    TopicName,
)
from gateleg.apps.delphi.topics.identity import Sketch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.runs.origin import Origin
    from gateleg.apps.delphi.tables import JobResult
    from gateleg.apps.delphi.topics.layers import Layers
    from gateleg.apps.delphi.topics.stage import Topic, Topics

#: The maximum length of a sample comment in characters.
_LONGEST_SAMPLE = 1_000


def topic_rows_of(topics: Topics, comments: Iterable[Comment], origin: Origin) -> Iterator[JobResult]:
    """All rows of a run of the comments stage."""
    common = origin.fields()
    bodies = {comment.comment_id: comment.body for comment in comments}
    yield from _embeddings(topics, common)
    yield from _assignments(topics, common)
    for layer in topics.topics:
        for topic in layer:
            yield _keywords(topics, topic, bodies, common)
            yield TopicName(
                **common,
                topic_key=topic.key,
                layer_id=topic.layer,
                cluster_id=topic.number,
                topic_name=topic.name,
                model_name=topic.naming.by,
                identity=topic.identity,
            )
    yield from _graph(topics, common)


def _embeddings(topics: Topics, common: dict[str, Any]) -> Iterator[JobResult]:
    for comment, vector in zip(topics.comment_ids.tolist(), topics.vectors, strict=True):
        # Nine digits represent single precision exactly.
        values = [float(f"{value:.9g}") for value in vector.tolist()]
        yield CommentEmbedding(**common, comment_id=comment, embedding=Embedding(vector=values, dimensions=len(values), model=topics.model))


def _assignments(topics: Topics, common: dict[str, Any]) -> Iterator[JobResult]:
    layers = topics.layers
    for row, comment in enumerate(topics.comment_ids.tolist()):
        inside = [number for number, layer in enumerate(layers.layers) if layer.labels[row] >= 0]
        yield ClusterAssignment(
            **common,
            comment_id=comment,
            is_outlier=bool(layers.outliers[row]),
            clusters={f"layer{number}": int(layers.layers[number].labels[row]) for number in inside},
            distance_to_centroid={f"layer{number}": round(float(layers.layers[number].distances[row]), 6) for number in inside},
            cluster_confidence={f"layer{number}": round(float(layers.layers[number].confidences[row]), 6) for number in inside},
        )


def _keywords(topics: Topics, topic: Topic, bodies: Mapping[int, str], common: dict[str, Any]) -> JobResult:
    return ClusterKeywords(
        **common,
        cluster_key=topic.key,
        layer_id=topic.layer,
        cluster_id=topic.number,
        topic_label=topic.name,
        size=len(topic.comments),
        sample_comments=[bodies[number][:_LONGEST_SAMPLE] for number in topic.examples],
        sample_comment_ids=list(topic.examples),
        centroid_coordinates=_position(topic.position),
        top_words=[keyword.term for keyword in topic.keywords],
        top_tfidf_scores=[round(keyword.score, 6) for keyword in topic.keywords],
        parent_cluster=None if topic.parent is None else _place(topic.parent),
        child_clusters=[_place(child) for child in topic.children],
        centroid=topics.layers.layers[topic.layer].centroids[topic.number].round(7).tolist(),
        identity=topic.identity,
    )


def _place(key: str) -> ClusterPlace:
    layer, cluster = key.removeprefix("layer").split("_")
    return ClusterPlace(layer_id=int(layer), cluster_id=int(cluster))


def _position(place: tuple[float, float]) -> Position | None:
    """A position on the map; None for comments without one."""
    x, y = place
    return None if math.isnan(x) or math.isnan(y) else Position(x=x, y=y)


def _graph(topics: Topics, common: dict[str, Any]) -> Iterator[JobResult]:
    row_of = {comment: row for row, comment in enumerate(topics.comment_ids.tolist())}
    for comment, row in row_of.items():
        yield GraphEdge(
            **common,
            edge_id=f"{comment}_{comment}",
            source_id=comment,
            target_id=comment,
            is_nearest_neighbor=False,
            shared_cluster_layers=_shared(topics.layers, row, row),
            position=_position((float(topics.positions[row, 0]), float(topics.positions[row, 1]))),
        )
    for edge in topics.edges:
        yield GraphEdge(
            **common,
            edge_id=f"{edge.source}_{edge.target}",
            source_id=edge.source,
            target_id=edge.target,
            weight=round(edge.similarity, 6),
            distance=round(1.0 - edge.similarity, 6),
            shared_cluster_layers=_shared(topics.layers, row_of[edge.source], row_of[edge.target]),
        )


def _shared(layers: Layers, one: int, other: int) -> list[int]:
    return [number for number, layer in enumerate(layers.layers) if layer.labels[one] == layer.labels[other] >= 0]


def sketches_of(keywords: Iterable[ClusterKeywords], assignments: Iterable[ClusterAssignment]) -> list[Sketch]:
    """The features by which a later run recognizes the topics of a stored run."""
    members: dict[str, set[int]] = {}
    for row in assignments:
        for layer, cluster in row.clusters.items():
            members.setdefault(f"{layer}_{cluster}", set()).add(row.comment_id)
    return [
        Sketch(topic.cluster_key, frozenset(members.get(topic.cluster_key, ())), np.array(topic.centroid), topic.identity)
        for topic in keywords
    ]


def topics_summary(topics: Topics) -> dict[str, Any]:
    """The figures that lists of runs show."""
    return {
        "comments": len(topics.comment_ids),
        "model": topics.model,
        "known_words": None if topics.known_words is None else round(topics.known_words, 4),
        "layers": [len(layer) for layer in topics.topics],
        "steadiest_layer": topics.layers.steadiest,
        "outliers": int(topics.layers.outliers.sum()),
        "edges": len(topics.edges),
        "self_descriptions": [asdict(one) for one in topics.suggested],
    }
