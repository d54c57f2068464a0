"""Restores topics from stored rows, with their current names. Pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.delphi.topics.config import TopicsConfig
from gateleg.apps.delphi.topics.keywords import Keyword
from gateleg.apps.delphi.topics.layers import Layer, Layers
from gateleg.apps.delphi.topics.names import Naming
from gateleg.apps.delphi.topics.neighbours import Edge
from gateleg.apps.delphi.topics.self_descriptions import Suggestion
from gateleg.apps.delphi.topics.stage import Topic, Topics, topic_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.delphi.runs.run_tables import Run
    from gateleg.apps.delphi.tables import ClusterAssignment, ClusterKeywords, ClusterPlace, CommentEmbedding, GraphEdge, TopicName


@dataclass(frozen=True, slots=True)
class TopicRows:
    """All rows of a run of the comments stage, sorted by key."""

    embeddings: Sequence[CommentEmbedding]
    assignments: Sequence[ClusterAssignment]
    keywords: Sequence[ClusterKeywords]
    names: Sequence[TopicName]
    edges: Sequence[GraphEdge]


def topics_from(run: Run, rows: TopicRows) -> Topics:
    """The topics of a run: as `analyse_comments` returned them, except for the last decimals."""
    count = len(run.summary["layers"])
    by_layer = [sorted((row for row in rows.keywords if row.layer_id == number), key=lambda row: row.cluster_id) for number in range(count)]
    layers = [_layer(rows.assignments, by_layer[number], number, last=number == count - 1) for number in range(count)]
    names = {row.topic_key: row for row in rows.names}
    ids = [row.comment_id for row in rows.assignments]
    members = [_members(ids, layer) for layer in layers]
    return Topics(
        # Runs of earlier versions may have settings that no longer exist.
        TopicsConfig.model_validate({name: value for name, value in run.config.items() if name in TopicsConfig.model_fields}),
        run.summary["model"],
        np.array(ids, dtype=np.int64),
        np.array([row.embedding.vector for row in rows.embeddings] or np.zeros((0, 1)), dtype=np.float32),
        _positions(ids, rows.edges),
        Layers(tuple(layers), np.array([row.is_outlier for row in rows.assignments], dtype=np.bool_), run.summary["steadiest_layer"]),
        tuple(
            tuple(_topic(row, members[number][row.cluster_id], names[row.cluster_key]) for row in clusters)
            for number, clusters in enumerate(by_layer)
        ),
        tuple(Edge(row.source_id, row.target_id, row.weight) for row in _pairs(rows.edges)),
        run.summary.get("known_words"),
        # Runs of earlier versions have suggested nothing.
        tuple(Suggestion(**one) for one in run.summary.get("self_descriptions", ())),
    )


def _layer(assignments: Sequence[ClusterAssignment], clusters: Sequence[ClusterKeywords], number: int, last: bool) -> Layer:
    name = f"layer{number}"
    parents = [] if last else [row.parent_cluster.cluster_id if row.parent_cluster else 0 for row in clusters]
    return Layer(
        np.array([row.clusters.get(name, -1) for row in assignments], dtype=np.int64),
        np.array([row.distance_to_centroid.get(name, math.nan) for row in assignments], dtype=np.float64),
        np.array([row.cluster_confidence.get(name, math.nan) for row in assignments], dtype=np.float64),
        np.array([row.centroid for row in clusters], dtype=np.float64).reshape(len(clusters), -1),
        np.array(parents, dtype=np.int64),
    )


def _members(ids: Sequence[int], layer: Layer) -> dict[int, tuple[int, ...]]:
    return {topic: tuple(ids[row] for row in layer.members(topic).tolist()) for topic in range(layer.topics)}


def _topic(row: ClusterKeywords, comments: tuple[int, ...], name: TopicName) -> Topic:
    place = row.centroid_coordinates
    return Topic(
        row.layer_id,
        row.cluster_id,
        comments,
        Naming(name.topic_name, name.model_name),
        tuple(Keyword(term, score) for term, score in zip(row.top_words, row.top_tfidf_scores, strict=True)),
        tuple(row.sample_comment_ids),
        (math.nan, math.nan) if place is None else (place.x, place.y),
        None if row.parent_cluster is None else _key(row.parent_cluster),
        tuple(_key(child) for child in row.child_clusters),
        row.identity,
    )


def _key(place: ClusterPlace) -> str:
    return topic_key(place.layer_id, place.cluster_id)


def _positions(ids: Sequence[int], edges: Sequence[GraphEdge]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    places = {row.source_id: row.position for row in edges if row.source_id == row.target_id}
    found = [(place.x, place.y) if (place := places.get(number)) is not None else (math.nan, math.nan) for number in ids]
    return np.array(found, dtype=np.float64).reshape(len(ids), 2)


def _pairs(edges: Sequence[GraphEdge]) -> list[GraphEdge]:
    return sorted((row for row in edges if row.source_id != row.target_id), key=lambda row: (row.source_id, row.target_id))
