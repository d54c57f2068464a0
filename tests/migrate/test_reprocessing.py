"""A worked example: the results of a pipeline get the job as their key, and are computed anew instead of copied.

Six tables are keyed by conversation, so that a second run writes over the first. Under the new key, job and item, runs stand side by side.
What can be computed again is computed again, conversation by conversation; names that a language model has written cost money, and are
moved to the run of their conversation. Old results are readable until the last migration, which refuses to begin too early.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid5

import pytest

from gateleg.migrate import KeyMove, Migration, Migrator, MoveOptions, Moving, Phase
from gateleg.model import Attr, Entity, Key, Pattern, Table, field
from tests.migrate.moves.layouts import opened, raw

if TYPE_CHECKING:
    from gateleg.store import Store

PIPELINE = UUID("7a9d5a5e-5a39-4c0f-9d3b-0c6f2d1d9a11")
comments, runs = Table("Comments", hash="conversation_id", range="comment_id"), Table("Runs", hash="conversation_id")


class Comment(Entity, table=comments):
    """What the pipeline works on; it stays as it is."""

    conversation_id: Attr[str]
    comment_id: Attr[int]
    text: Attr[str]
    key = Key("{conversation_id}", "{comment_id}")
    of_conversation = Pattern(title="The comments of a conversation")


class Run(Entity, table=runs):
    """The run whose results a conversation shows: written last, when all of them are there."""

    conversation_id: Attr[str]
    job_id: Attr[UUID]
    key = Key("{conversation_id}")


def both(name: str, item: str) -> tuple[Table, Table]:
    """A table of results by conversation, and the one by job that takes its place."""
    return Table(f"Old{name}", hash="conversation_id", range=item), Table(name, hash="job_id", range=item)


old_embeddings, embeddings = both("CommentEmbeddings", "comment_id")
old_assignments, assignments = both("ClusterAssignments", "comment_id")
old_extremities, extremities = both("CommentExtremity", "comment_id")
old_keywords, keywords = both("ClusterKeywords", "cluster_key")
old_edges, edges = both("UMAPGraph", "edge_id")
old_names, names = both("LLMTopicNames", "topic_key")


class OldEmbedding(Entity, table=old_embeddings):
    """The point of a comment, of whichever run was the last."""

    conversation_id: Attr[str]
    comment_id: Attr[int]
    key = Key("{conversation_id}", "{comment_id}")


class OldAssignment(Entity, table=old_assignments):
    """The cluster of a comment."""

    conversation_id: Attr[str]
    comment_id: Attr[int]
    key = Key("{conversation_id}", "{comment_id}")


class OldExtremity(Entity, table=old_extremities):
    """How much a comment divides people."""

    conversation_id: Attr[str]
    comment_id: Attr[int]
    key = Key("{conversation_id}", "{comment_id}")


class OldKeywords(Entity, table=old_keywords):
    """The words of a cluster."""

    conversation_id: Attr[str]
    cluster_key: Attr[str]
    key = Key("{conversation_id}", "{cluster_key}")


class OldEdge(Entity, table=old_edges):
    """Two comments that are near each other."""

    conversation_id: Attr[str]
    edge_id: Attr[str]
    key = Key("{conversation_id}", "{edge_id}")


class Embedding(Entity, table=embeddings):
    """A comment as a point."""

    job_id: Attr[UUID]
    comment_id: Attr[int]
    conversation_id: Attr[str]
    point: Attr[list[float]]
    key = Key("{job_id}", "{comment_id}")
    of_job = Pattern(title="The points of a run")


class Assignment(Entity, table=assignments):
    """The cluster of a comment."""

    job_id: Attr[UUID]
    comment_id: Attr[int]
    conversation_id: Attr[str]
    cluster: Attr[int]
    key = Key("{job_id}", "{comment_id}")


class Extremity(Entity, table=extremities):
    """How much a comment divides people."""

    job_id: Attr[UUID]
    comment_id: Attr[int]
    conversation_id: Attr[str]
    value: Attr[float]
    key = Key("{job_id}", "{comment_id}")


class Keywords(Entity, table=keywords):
    """The words of a cluster."""

    job_id: Attr[UUID]
    cluster_key: Attr[str]
    conversation_id: Attr[str]
    words: Attr[list[str]]
    key = Key("{job_id}", "{cluster_key}")


class Edge(Entity, table=edges):
    """Two comments that are near each other."""

    job_id: Attr[UUID]
    edge_id: Attr[str]
    conversation_id: Attr[str]
    weight: Attr[float]
    key = Key("{job_id}", "{edge_id}")


class OldName(Entity, table=old_names):
    """What a language model has called a cluster of a conversation."""

    conversation_id: Attr[str]
    topic_key: Attr[str]
    name: Attr[str]
    model: Attr[str] = field("")
    key = Key("{conversation_id}", "{topic_key}")


class TopicName(Entity, table=names):
    """What a language model has called a cluster of a run."""

    job_id: Attr[UUID]
    topic_key: Attr[str]
    conversation_id: Attr[str]
    name: Attr[str]
    model: Attr[str] = field("")
    key = Key("{job_id}", "{topic_key}")
    of_job = Pattern(title="The names of a run")


RESULTS = (Embedding, Assignment, Extremity, Keywords, Edge)
NEW_TABLES = (embeddings, assignments, extremities, keywords, edges)
OLD_TABLES = (old_embeddings, old_assignments, old_extremities, old_keywords, old_edges)


def analysed(conversation: str, found: list[Comment]) -> list[Entity]:
    """The pipeline: pure, so that a run that was cut short is simply done again under the same job."""
    job = uuid5(PIPELINE, conversation)
    place: dict[str, Any] = {"job_id": job, "conversation_id": conversation}
    results: list[Entity] = []
    for one in found:
        cluster = len(one.text) % 2
        results.append(Embedding(**place, comment_id=one.comment_id, point=[float(len(one.text)), float(one.comment_id)]))
        results.append(Assignment(**place, comment_id=one.comment_id, cluster=cluster))
        results.append(Extremity(**place, comment_id=one.comment_id, value=cluster / 2))
        results.append(Edge(**place, edge_id=f"{one.comment_id}-{one.comment_id + 1}", weight=0.5))
    words = sorted({word for one in found for word in one.text.split()})
    return [*results, Keywords(**place, cluster_key="layer0_0", words=words)]


def conversations(store: Store) -> list[str]:
    """All conversations, in order."""
    return sorted({one.conversation_id for one in store.export(Comment)})


def reprocess(store: Store) -> None:
    """Run the pipeline for each conversation that has no run yet: what was done before an interruption is not done again."""
    store.ensure_tables(runs)
    for conversation in conversations(store):
        if store.find(Run, conversation_id=conversation) is None:
            store.batch_write(analysed(conversation, list(store.query(Comment.of_conversation, conversation_id=conversation))))
            store.create(Run(conversation_id=conversation, job_id=uuid5(PIPELINE, conversation)))


def forget_runs(store: Store) -> None:
    """The opposite: results of runs, and the runs."""
    for entity in (*RESULTS, Run):
        store.batch_write(deletes=list(store.export(entity)))


def drop_old(store: Store) -> None:
    """Delete the old results, once every conversation has its run."""
    missing = [one for one in conversations(store) if store.find(Run, conversation_id=one) is None]
    if missing:
        raise RuntimeError(f"{', '.join(missing)} were not processed again yet")
    store.delete_tables(*OLD_TABLES)


by_job = Migration(1, "results-by-job", tables=NEW_TABLES, apply=reprocess, undo=forget_runs)
names_by_job = Migration(
    2,
    "names-by-job",
    moves=(
        KeyMove(
            "topic-names",
            OldName,
            TopicName,
            convert=lambda old, run: TopicName(
                job_id=run.job_id, topic_key=old.topic_key, conversation_id=old.conversation_id, name=old.name, model=old.model
            ),
            revert=lambda new: OldName(conversation_id=new.conversation_id, topic_key=new.topic_key, name=new.name, model=new.model),
            lookup=lambda old: Run.key(conversation_id=old.conversation_id),
        ),
    ),
)
without_old = Migration(3, "drop-results-by-conversation", apply=drop_old)


@pytest.fixture
def store() -> Store:
    store = opened()
    store.ensure_tables(comments, old_names, *OLD_TABLES)
    for conversation in ("c1", "c2", "c3"):
        for number in range(4):
            text = f"comment {number} of {conversation}" + "!" * number
            store.put(Comment(conversation_id=conversation, comment_id=number, text=text))
            store.put(OldEmbedding(conversation_id=conversation, comment_id=number))
            store.put(OldAssignment(conversation_id=conversation, comment_id=number))
            store.put(OldExtremity(conversation_id=conversation, comment_id=number))
            store.put(OldEdge(conversation_id=conversation, edge_id=f"{number}-{number + 1}"))
        store.put(OldKeywords(conversation_id=conversation, cluster_key="layer0_0"))
        store.put(OldName(conversation_id=conversation, topic_key="layer0_0", name=f"Talk of {conversation}", model="some model"))
    return store


def migrator(store: Store, *migrations: Migration) -> Migrator:
    return Migrator(store, "opinions", migrations, by="ann", options=MoveOptions(segments=2, force=True))


def test_results_are_computed_again_under_their_job_and_names_are_moved(store: Store) -> None:
    one = migrator(store, by_job, names_by_job, without_old)
    one.apply(number=2)
    run = store.get(Run, conversation_id="c2")
    assert [point.comment_id for point in store.query(Embedding.of_job, job_id=run.job_id)] == [0, 1, 2, 3]
    old = {(one.conversation_id, one.comment_id) for one in store.export(OldEmbedding)}
    assert {(one.conversation_id, one.comment_id) for one in store.export(Embedding)} == old
    # Both releases see the names, whoever writes them.
    client = store.moving(Moving(names_by_job.moves))
    client.patch(OldName, OldName.name.set("Renamed"), conversation_id="c2", topic_key="layer0_0")
    assert [one.name for one in client.query(TopicName.of_job, job_id=run.job_id)] == ["Renamed"]
    one.apply(until=Phase.CLEAN_UP)
    tables = store.transport.call("ListTables", {})["TableNames"]
    assert not [name for name in tables if name.startswith("Old") and name != "OldLLMTopicNames"]
    assert raw(store, old_names) == []
    assert {(one.conversation_id, one.name) for one in store.export(TopicName)} == {
        ("c1", "Talk of c1"),
        ("c2", "Renamed"),
        ("c3", "Talk of c3"),
    }


def test_an_interruption_costs_at_most_the_conversation_that_was_under_way(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    def counted(conversation: str, found: list[Comment]) -> list[Entity]:
        begun.append(conversation)
        if begun == ["c1", "c2"]:
            raise ConnectionError("the host is gone")
        return pipeline(conversation, found)

    pipeline = analysed
    monkeypatch.setitem(globals(), "analysed", counted)
    one = migrator(store, by_job)
    with pytest.raises(ConnectionError):
        one.apply()
    assert [status.state for status in one.status()] == ["failed"]
    one.apply()
    assert begun == ["c1", "c2", "c2", "c3"]
    assert [status.state for status in one.status()] == ["applied"]


def test_old_results_stay_until_everything_was_processed_and_the_way_back_is_open_until_then(store: Store) -> None:
    one = migrator(store, by_job, names_by_job, without_old)
    one.apply(number=2)
    store.put(Comment(conversation_id="c4", comment_id=0, text="a conversation that came meanwhile"))
    with pytest.raises(RuntimeError, match="c4"):
        one.apply()
    assert len(list(store.export(OldEmbedding))) == 12
    before = raw(store, old_names)
    for number in (3, 2, 1):
        one.rollback(number)
    assert raw(store, old_names) == before
    assert not [one for entity in (*RESULTS, Run, TopicName) for one in store.export(entity)]
