"""The tables of results. Each is keyed by the job and the result's identifier.

`conversation_id` is an attribute; `ConversationIndex` finds the results of all jobs of a conversation. Results of the votes are
declared in `vote_tables`, conversations and runs in `run_tables`.
"""

from datetime import datetime
from uuid import UUID

from gateleg.model import GSI, Attr, Compressed, Entity, Key, Pattern, Record, Table, field, stamp


def results_table(name: str, sort: str) -> Table:
    """A table of job results, keyed by the job and by the attribute `sort`."""
    return Table(name, hash="job_id", range=sort, indexes=[GSI("ConversationIndex", hash="conversation_id", range="created_at")])


embeddings = results_table("Delphi_CommentEmbeddings", "comment_id")
assignments = results_table("Delphi_CommentHierarchicalClusterAssignments", "comment_id")
keywords = results_table("Delphi_CommentClustersStructureKeywords", "cluster_key")
edges = results_table("Delphi_UMAPGraph", "edge_id")
topic_names = results_table("Delphi_CommentClustersLLMTopicNames", "topic_key")
extremities = results_table("Delphi_CommentExtremity", "comment_id")


class JobResult(Entity):
    """The attributes of every result of a job."""

    job_id: Attr[UUID]
    conversation_id: Attr[str]
    created_at: Attr[datetime] = stamp(on="create")
    #: the parent and the root of the job, and the job's stage
    parent_job_id: Attr[UUID | None] = field(None)
    root_job_id: Attr[UUID | None] = field(None)
    job_stage: Attr[str | None] = field(None)

    of_job = Pattern(title="All results of a job")
    of_conversation = Pattern("ConversationIndex", title="The results of a conversation over all jobs, newest first", order="desc")


class Embedding(Record):
    """A vector and the model that computed it."""

    vector: Attr[list[float]]
    dimensions: Attr[int]
    model: Attr[str]


class Position(Record):
    """A position on a map."""

    x: Attr[float]
    y: Attr[float]


class ClusterPlace(Record):
    """A cluster, identified by its layer and its id."""

    layer_id: Attr[int]
    cluster_id: Attr[int]


class CommentEmbedding(JobResult, table=embeddings):
    """The embedding of one comment."""

    comment_id: Attr[int]
    embedding: Attr[Embedding]

    key = Key("{job_id}", "{comment_id}")


class ClusterAssignment(JobResult, table=assignments):
    """The clusters of one comment, layer by layer; layer 0 is the finest."""

    comment_id: Attr[int]
    #: whether it hardly belongs to its cluster, which is merely the nearest
    is_outlier: Attr[bool] = field(False)
    #: by layer, as `layer0`
    clusters: Attr[dict[str, int]] = field(factory=dict)
    distance_to_centroid: Attr[dict[str, float]] = field(factory=dict)
    cluster_confidence: Attr[dict[str, float]] = field(factory=dict)

    key = Key("{job_id}", "{comment_id}")


class ClusterKeywords(JobResult, table=keywords):
    """One cluster: its keywords, comments, parent and children."""

    #: `layer0_3`: the layer and the cluster
    cluster_key: Attr[str]
    layer_id: Attr[int]
    cluster_id: Attr[int]
    topic_label: Attr[str] = field("")
    size: Attr[int] = field(0)
    sample_comments: Attr[list[str]] = field(factory=list, max_length=20)
    centroid_coordinates: Attr[Position | None] = field(None)
    top_words: Attr[list[str]] = field(factory=list, max_length=50)
    top_tfidf_scores: Attr[list[float]] = field(factory=list, max_length=50)
    parent_cluster: Attr[ClusterPlace | None] = field(None)
    child_clusters: Attr[list[ClusterPlace]] = field(factory=list, max_length=2_000)
    #: the ids of `sample_comments`
    sample_comment_ids: Attr[list[int]] = field(factory=list, max_length=20)
    #: the mean of its comments' embeddings, normalized
    centroid: Attr[Compressed[list[float]]] = field(factory=list)
    #: the topic's identity, the same in all runs
    identity: Attr[str] = field("")

    key = Key("{job_id}", "{cluster_key}")


class GraphEdge(JobResult, table=edges):
    """One edge of the neighbour graph. An edge from a comment to itself holds the comment's position on the map."""

    #: `7_9`: source and target
    edge_id: Attr[str]
    source_id: Attr[int]
    target_id: Attr[int]
    weight: Attr[float] = field(1.0)
    distance: Attr[float] = field(0.0)
    is_nearest_neighbor: Attr[bool] = field(True)
    shared_cluster_layers: Attr[list[int]] = field(factory=list)
    position: Attr[Position | None] = field(None)

    key = Key("{job_id}", "{edge_id}")


class EarlierName(Record):
    """A former name of a topic."""

    topic_name: Attr[str]
    model_name: Attr[str]
    #: when it was replaced
    until: Attr[datetime]


class TopicName(JobResult, table=topic_names):
    """The name of a topic, and who gave it."""

    #: as the cluster's `cluster_key`
    topic_key: Attr[str]
    layer_id: Attr[int]
    cluster_id: Attr[int]
    topic_name: Attr[str]
    #: `keywords`, the address of a model, or the name of the principal who renamed it
    model_name: Attr[str] = field("keywords")
    #: oldest first
    earlier: Attr[list[EarlierName]] = field(factory=list, max_length=100)
    identity: Attr[str] = field("")

    key = Key("{job_id}", "{topic_key}")


class VoteDifferences(Record):
    """The largest difference between two groups, for each kind of vote."""

    agree_diff: Attr[float]
    disagree_diff: Attr[float]
    pass_diff: Attr[float]


class CommentExtremity(JobResult, table=extremities):
    """How much the groups differ on a comment. Its distance from the centre of the map is `CommentStatistics.map_extremity`."""

    comment_id: Attr[int]
    #: from 0 to 1
    extremity_value: Attr[float]
    #: `max_vote_diff`, or `max_vote_diff_shrunk` when the shares of groups with few votes are shrunk towards those of everybody
    calculation_method: Attr[str]
    component_values: Attr[VoteDifferences]

    key = Key("{job_id}", "{comment_id}")


#: The six tables that this module declares.
TABLES = (embeddings, assignments, keywords, edges, topic_names, extremities)
