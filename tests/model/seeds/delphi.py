"""Six result tables keyed by job, each with the conversation's history."""

from datetime import datetime
from uuid import UUID

from gateleg.model import GSI, Attr, Entity, Key, Pattern, Record, Table, field, stamp


def results_table(name: str, sort: str) -> Table:
    return Table(name, hash="job_id", range=sort, indexes=[GSI("ConversationIndex", hash="conversation_id", range="created_at")])


embeddings = results_table("Delphi_CommentEmbeddings", "comment_id")
assignments = results_table("Delphi_CommentHierarchicalClusterAssignments", "comment_id")
keywords = results_table("Delphi_CommentClustersStructureKeywords", "cluster_key")
edges = results_table("Delphi_UMAPGraph", "edge_id")
topic_names = results_table("Delphi_CommentClustersLLMTopicNames", "topic_key")
extremities = results_table("Delphi_CommentExtremity", "comment_id")


class JobResult(Entity):
    """The attributes that all results of a job have."""

    job_id: Attr[UUID]
    conversation_id: Attr[str]
    created_at: Attr[datetime] = stamp(on="create")
    parent_job_id: Attr[UUID | None] = field(None)
    root_job_id: Attr[UUID | None] = field(None)
    job_stage: Attr[str | None] = field(None)

    of_job = Pattern(title="All results of a job")
    of_conversation = Pattern("ConversationIndex", title="The results of a conversation, newest first", order="desc")


class Embedding(Record):
    """A vector and its origin."""

    vector: Attr[list[float]]
    dimensions: Attr[int]
    model: Attr[str]


class CommentEmbedding(JobResult, table=embeddings):
    """The embedding of one comment."""

    comment_id: Attr[int]
    embedding: Attr[Embedding]

    key = Key("{job_id}", "{comment_id}")


class ClusterAssignment(JobResult, table=assignments):
    """The clusters of one comment, layer by layer."""

    comment_id: Attr[int]
    clusters: Attr[dict[str, int]] = field(factory=dict)

    key = Key("{job_id}", "{comment_id}")


class ClusterKeywords(JobResult, table=keywords):
    """The keywords of one cluster."""

    cluster_key: Attr[str]
    words: Attr[list[str]] = field(factory=list)

    key = Key("{job_id}", "{cluster_key}")


class GraphEdge(JobResult, table=edges):
    """One edge of the neighbour graph."""

    edge_id: Attr[str]
    weight: Attr[float] = field(0.0)

    key = Key("{job_id}", "{edge_id}")


class TopicName(JobResult, table=topic_names):
    """The name that a model gave a topic."""

    topic_key: Attr[str]
    name: Attr[str] = field("")

    key = Key("{job_id}", "{topic_key}")


class CommentExtremity(JobResult, table=extremities):
    """How far a comment divides."""

    comment_id: Attr[int]
    extremity: Attr[float] = field(0.0)

    key = Key("{job_id}", "{comment_id}")


RESULTS: list[tuple[type[JobResult], str, int | str]] = [
    (CommentEmbedding, "comment_id", 123),
    (ClusterAssignment, "comment_id", 123),
    (ClusterKeywords, "cluster_key", "layer0_3"),
    (GraphEdge, "edge_id", "7_9"),
    (TopicName, "topic_key", "layer0_3"),
    (CommentExtremity, "comment_id", 123),
]
