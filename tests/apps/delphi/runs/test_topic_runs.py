from collections.abc import AsyncIterator
from dataclasses import replace
from functools import cache
from typing import TypeVar
from uuid import uuid4

import numpy as np
import pytest

from gateleg.ai import Models
from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.errors import BadTopicName, RunMissing
from gateleg.apps.delphi.runs.origin import TOPICS_STAGE, Origin
from gateleg.apps.delphi.runs.run_tables import Run
from gateleg.apps.delphi.runs.topic_names import rename_topic
from gateleg.apps.delphi.runs.topic_rows import topics_summary
from gateleg.apps.delphi.runs.topic_runs import load_topics, run_topics, write_topics
from gateleg.apps.delphi.service import complete_run, latest_run, results, start_run, upload_conversation
from gateleg.apps.delphi.tables import ClusterAssignment, ClusterKeywords, CommentEmbedding, GraphEdge, TopicName
from gateleg.apps.delphi.topics.config import TopicsConfig
from gateleg.apps.delphi.topics.covoting import with_votes
from gateleg.apps.delphi.topics.stage import Topics, analyse_comments
from gateleg.apps.delphi.topics.words import word_vectors
from gateleg.jobs import ManualClock
from gateleg.model import spec_of
from gateleg.store import AsyncStore, ConditionFailed
from gateleg.store.sizes import item_size
from tests.apps.delphi.texts import local_embeddings

T = TypeVar("T")
COMMENTS = synthesise(SyntheticPlan(participants=5, comments=60, topics=4, seed=2)).conversation
CONFIG = TopicsConfig(n_neighbors=10)


@cache
def found_topics() -> Topics:
    return analyse_comments(COMMENTS.comments, local_embeddings(), CONFIG)


async def listed(found: AsyncIterator[T]) -> list[T]:
    return [item async for item in found]


def origin(store: AsyncStore) -> Origin:
    return Origin(uuid4(), COMMENTS.conversation_id, store.setup.now(), job_stage=TOPICS_STAGE)


@pytest.fixture
async def run(store: AsyncStore) -> Run:
    """A completed run with topics that were found once for all tests."""
    await upload_conversation(store, COMMENTS)
    where = origin(store)
    run, _ = await start_run(store, where, CONFIG.model_dump(mode="json"))
    await write_topics(store, found_topics(), COMMENTS.comments, where)
    return await complete_run(store, run, summary=topics_summary(found_topics()))


async def test_topics_come_back_as_they_were_found(store: AsyncStore, run: Run) -> None:
    expected = found_topics()
    assert run.summary["layers"] == [len(layer) for layer in expected.topics]
    stored = await listed(results(store, CommentEmbedding, run.job_id))
    assert np.array_equal(np.array([row.embedding.vector for row in stored], dtype=np.float32), expected.vectors)
    names = {row.topic_key: row.topic_name for row in await listed(results(store, TopicName, run.job_id))}
    assert names == {topic.key: topic.name for layer in expected.topics for topic in layer}
    assignments = await listed(results(store, ClusterAssignment, run.job_id))
    for number, layer in enumerate(expected.layers.layers):
        assert [row.clusters[f"layer{number}"] for row in assignments] == layer.labels.tolist()
    assert (await latest_run(store, run.conversation_id, TOPICS_STAGE)).job_id == run.job_id


async def test_topics_are_rebuilt_from_their_rows_with_the_names_they_have_now(store: AsyncStore, run: Run) -> None:
    expected = found_topics()
    await rename_topic(store, run.job_id, "layer0_0", "Bicycles and trams", "ann")
    loaded = await load_topics(store, run)
    assert loaded.config == expected.config
    assert np.array_equal(loaded.vectors, expected.vectors)
    assert np.array_equal(loaded.positions, expected.positions)
    assert np.array_equal(loaded.layers.outliers, expected.layers.outliers)
    for ours, theirs in zip(loaded.layers.layers, expected.layers.layers, strict=True):
        assert np.array_equal(ours.labels, theirs.labels)
        assert np.array_equal(ours.parents, theirs.parents)
        assert np.allclose(ours.centroids, theirs.centroids, atol=1e-6)
        assert np.allclose(ours.distances, theirs.distances, atol=1e-6)
    assert [(edge.source, edge.target) for edge in loaded.edges] == [(edge.source, edge.target) for edge in expected.edges]
    renamed = loaded.find("layer0_0")
    assert renamed is not None
    assert (renamed.name, renamed.naming.by) == ("Bicycles and trams", "ann")
    for layer in expected.topics:
        for topic in layer:
            found = loaded.find(topic.key)
            assert found is not None
            assert (found.comments, found.examples, found.parent, found.children, found.identity, found.position) == (
                topic.comments,
                topic.examples,
                topic.parent,
                topic.children,
                topic.identity,
                topic.position,
            )


async def test_clusters_know_their_parents_and_children(store: AsyncStore, run: Run) -> None:
    clusters = {(row.layer_id, row.cluster_id): row for row in await listed(results(store, ClusterKeywords, run.job_id))}
    for place, cluster in clusters.items():
        assert cluster.cluster_key == f"layer{place[0]}_{place[1]}"
        assert len(cluster.sample_comments) == len(cluster.sample_comment_ids) > 0
        if cluster.parent_cluster is not None:
            parent = clusters[cluster.parent_cluster.layer_id, cluster.parent_cluster.cluster_id]
            assert place in {(child.layer_id, child.cluster_id) for child in parent.child_clusters}


async def test_the_graph_has_a_place_for_every_comment_and_edges_between_them(store: AsyncStore, run: Run) -> None:
    edges = await listed(results(store, GraphEdge, run.job_id))
    nodes = [edge for edge in edges if edge.source_id == edge.target_id]
    assert sorted(node.source_id for node in nodes) == found_topics().comment_ids.tolist()
    assert all(node.position is not None for node in nodes)
    for edge in edges:
        assert edge.edge_id == f"{edge.source_id}_{edge.target_id}"
        assert edge.weight == pytest.approx(1 - edge.distance)


async def test_no_row_comes_near_the_limit(store: AsyncStore, run: Run) -> None:
    for kind in (CommentEmbedding, ClusterAssignment, ClusterKeywords, GraphEdge, TopicName):
        assert max(item_size(spec_of(kind).encode(row)) for row in await listed(results(store, kind, run.job_id))) < 20_000


async def test_topics_keep_their_identity_in_the_next_run_and_vectors_need_not_be_computed_again(
    store: AsyncStore, run: Run, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Speechless:
        """A model that must not be asked."""

        model = local_embeddings().model

    models = Models()
    monkeypatch.setattr(models, "embeddings", lambda address: Speechless())
    clock.advance(60)
    again = await run_topics(store, models, origin(store), TopicsConfig(n_neighbors=10, skip_embedding=True))
    first = {row.identity: row.topic_key for row in await listed(results(store, TopicName, run.job_id))}
    assert {row.identity: row.topic_key for row in await listed(results(store, TopicName, again.job_id))} == first
    assert "" not in first


async def test_a_topic_is_renamed_and_its_history_kept(store: AsyncStore, run: Run) -> None:
    topics = await listed(results(store, TopicName, run.job_id))
    old, other = topics[0].topic_name, topics[1].topic_name
    renamed = await rename_topic(store, run.job_id, topics[0].topic_key, "Bicycles and trams", "ann")
    assert (renamed.topic_name, renamed.model_name) == ("Bicycles and trams", "ann")
    assert [(name.topic_name, name.model_name) for name in renamed.earlier] == [(old, "keywords")]
    assert await rename_topic(store, run.job_id, topics[0].topic_key, "Bicycles and trams", "bob") == renamed
    for bad in (other, "", "<b>", "x" * 200):
        with pytest.raises(BadTopicName):
            await rename_topic(store, run.job_id, topics[0].topic_key, bad, "ann")
    with pytest.raises(RunMissing, match="no topic 'layer9_9'"):
        await rename_topic(store, run.job_id, "layer9_9", "Nothing", "ann")


async def test_the_second_of_two_who_rename_a_topic_at_once_is_told(store: AsyncStore, run: Run) -> None:
    topic = (await listed(results(store, TopicName, run.job_id)))[0]
    await rename_topic(store, run.job_id, topic.topic_key, "Trams", "ann")
    with pytest.raises(ConditionFailed):
        await store.patch(topic, TopicName.topic_name.set("Buses"), condition=TopicName.topic_name == topic.topic_name)


@pytest.mark.parametrize("comments", [[], [Comment(1, "Only one.")], [Comment(1, ""), Comment(2, "  ")]], ids=["none", "one", "blank"])
async def test_next_to_nothing_has_no_topics_and_no_trouble(store: AsyncStore, comments: list[Comment]) -> None:
    await upload_conversation(store, Conversation(COMMENTS.conversation_id, Votes.of([]), comments))
    run = await run_topics(store, Models(), origin(store))
    assert run.summary["comments"] == len(comments)
    assert len((await load_topics(store, run)).comment_ids) == len(comments)


async def test_a_run_in_a_language_that_the_model_does_not_know_takes_votes_as_well(store: AsyncStore) -> None:
    texts = ["Nachtbusse fahren selten", "Haltestellen fehlen überall", "Mieten steigen weiter", "Wohnraum schaffen"]
    comments = [replace(comment, body=texts[place], moderated=1) for place, comment in enumerate(COMMENTS.comments[:4])]
    await upload_conversation(store, replace(COMMENTS, comments=comments))
    run = await run_topics(store, Models(), origin(store))
    expected = with_votes(word_vectors(texts), COMMENTS.counted_votes(), [comment.comment_id for comment in comments])
    stored = await listed(results(store, CommentEmbedding, run.job_id))
    assert np.array_equal(np.array([row.embedding.vector for row in stored], dtype=np.float32), expected)
