"""The results of the votes stage, keyed by job like all results."""

from typing import Literal

from gateleg.apps.delphi.tables import JobResult, results_table
from gateleg.model import Attr, Compressed, Key, Pattern, Record, field

components_table = results_table("Delphi_PCAResults", "chunk")
projections_table = results_table("Delphi_PCAParticipantProjections", "participant_id")
base_clusters_table = results_table("Delphi_BaseClusters", "cluster_id")
groups_table = results_table("Delphi_KMeansClusters", "group_key")
statistics_table = results_table("Delphi_CommentRouting", "comment_id")
representatives_table = results_table("Delphi_RepresentativeComments", "rank_key")
consensus_table = results_table("Delphi_ConsensusComments", "rank_key")
correlations_table = results_table("Delphi_CommentCorrelations", "chunk")


class ComponentsChunk(JobResult, table=components_table):
    """The centre and the components of the votes on some of the comments; chunks follow each other by comment id.

    1 stands for agreement of everybody and -1 for disagreement of everybody.
    """

    chunk: Attr[int]
    comment_ids: Attr[Compressed[list[int]]]
    center: Attr[Compressed[list[float]]]
    #: a list for each component
    components: Attr[Compressed[list[list[float]]]]
    #: a list for each axis of the map
    comment_positions: Attr[Compressed[list[list[float]]]]
    #: of the whole decomposition, the same in every chunk
    singular_values: Attr[list[float]]
    explained: Attr[list[float]]

    key = Key("{job_id}", "{chunk}")


class ParticipantProjection(JobResult, table=projections_table):
    """Where a participant lies on the map, which group they are in, and their statistics."""

    participant_id: Attr[int]
    coordinates: Attr[list[float]]
    #: whether they have voted often enough to be grouped
    in_conversation: Attr[bool]
    group_id: Attr[int | None] = field(None)
    subgroup_id: Attr[int | None] = field(None)
    base_cluster_id: Attr[int | None] = field(None)
    n_votes: Attr[int] = field(0)
    n_agree: Attr[int] = field(0)
    n_disagree: Attr[int] = field(0)
    n_pass: Attr[int] = field(0)
    centricness: Attr[float | None] = field(None)
    coreness: Attr[float | None] = field(None)
    extremeness: Attr[float | None] = field(None)
    #: by group id, from -1 to 1
    group_correlations: Attr[dict[str, float]] = field(factory=dict)

    key = Key("{job_id}", "{participant_id}")


class BaseCluster(JobResult, table=base_clusters_table):
    """Participants who lie near each other on the map: what groups are made of."""

    cluster_id: Attr[int]
    center: Attr[list[float]]
    size: Attr[int]
    group_id: Attr[int]
    #: their ids, packed as differences
    members: Attr[bytes]

    key = Key("{job_id}", "{cluster_id}")


class SubgroupComment(Record):
    """A comment that sets a subgroup apart from the other subgroups of its group."""

    comment_id: Attr[int]
    #: the side that most of the subgroup have taken
    side: Attr[Literal["agree", "disagree"]]
    #: the side that sets it apart, which the figures below belong to
    repful_for: Attr[Literal["agree", "disagree"]]
    n_success: Attr[int]
    n_trials: Attr[int]
    p_success: Attr[float]
    p_test: Attr[float]
    repness: Attr[float]
    repness_test: Attr[float]
    best_agree: Attr[bool] = field(False)


class OpinionGroup(JobResult, table=groups_table):
    """A group, or a subgroup of one."""

    #: `group#0`, or `group#0#subgroup#1`
    group_key: Attr[str]
    level: Attr[Literal["group", "subgroup"]]
    group_id: Attr[int]
    #: the group that a subgroup is a part of
    parent_id: Attr[int | None] = field(None)
    center: Attr[list[float]]
    member_count: Attr[int]
    base_cluster_ids: Attr[Compressed[list[int]]]
    #: the mean silhouette of each number of groups that was tried
    silhouettes: Attr[dict[str, float]] = field(factory=dict)
    #: how well it comes back when some comments are left out, from 0 to 1
    stability: Attr[float | None] = field(None)
    #: of a subgroup, agreement before disagreement, where at least five have voted; those of a group are `RepresentativeComment`
    representatives: Attr[list[SubgroupComment]] = field(factory=list, max_length=5)

    key = Key("{job_id}", "{group_key}")


class GroupVotes(Record):
    """The votes of a group on a comment, and between which bounds its true share of agreement lies."""

    agrees: Attr[int]
    disagrees: Attr[int]
    passes: Attr[int]
    agree_low: Attr[float | None] = field(None)
    agree_high: Attr[float | None] = field(None)
    #: whether the group has voted often enough for a share to mean something
    enough: Attr[bool | None] = field(None)


class CommentStatistics(JobResult, table=statistics_table):
    """The votes on a comment, and what follows from them."""

    comment_id: Attr[int]
    #: how much it deserves more votes: the weight for drawing it
    priority: Attr[float]
    agrees: Attr[int]
    disagrees: Attr[int]
    passes: Attr[int]
    #: by group id
    groups: Attr[dict[str, GroupVotes]]
    #: the chance that one member of each group all agree
    consensus_score: Attr[float]
    #: the mean over groups of the share that agrees among those who take a side
    normalised_consensus: Attr[float]
    #: how far it lies from the middle of the map. How much groups differ on it is `CommentExtremity`
    map_extremity: Attr[float]
    #: whether moderation takes it out
    is_out: Attr[bool] = field(False)
    is_meta: Attr[bool] = field(False)

    key = Key("{job_id}", "{comment_id}")


class RepresentativeComment(JobResult, table=representatives_table):
    """A comment that is representative of a group."""

    group_id: Attr[int]
    #: from 0, agreement before disagreement
    rank: Attr[int]
    comment_id: Attr[int]
    #: the side that most of the group have taken
    side: Attr[Literal["agree", "disagree"]]
    #: the side that sets the group apart from the others, which the figures below belong to
    repful_for: Attr[Literal["agree", "disagree"]]
    n_success: Attr[int]
    n_trials: Attr[int]
    p_success: Attr[float]
    p_test: Attr[float]
    repness: Attr[float]
    repness_test: Attr[float]
    n_agree: Attr[int]
    n_disagree: Attr[int]
    best_agree: Attr[bool] = field(False)

    key = Key("{job_id}", "{group_id:04d}#{rank:02d}")
    of_group = Pattern(title="The representative comments of a group, by rank")


class ConsensusComment(JobResult, table=consensus_table):
    """A comment that most participants are on one side of, or that every group agrees with."""

    #: `common` is what every group agrees with, beyond chance
    kind: Attr[Literal["agree", "disagree", "common"]]
    rank: Attr[int]
    comment_id: Attr[int]
    n_success: Attr[int | None] = field(None)
    n_trials: Attr[int | None] = field(None)
    p_success: Attr[float | None] = field(None)
    p_test: Attr[float | None] = field(None)
    #: of common ground: the lower bound of agreement in the group that agrees least, and that group
    at_least: Attr[float | None] = field(None)
    least_in: Attr[int | None] = field(None)

    key = Key("{job_id}", "{kind}#{rank:04d}")


class CorrelationsChunk(JobResult, table=correlations_table):
    """Some rows of the matrix of correlations between comments."""

    chunk: Attr[int]
    #: all columns of the matrix, in the order that puts like comments side by side
    comment_ids: Attr[Compressed[list[int]]]
    #: the place of the first of these rows
    first_row: Attr[int]
    #: correlations with four decimals
    rows: Attr[Compressed[list[list[float]]]]

    key = Key("{job_id}", "{chunk}")


#: What the votes stage writes beside `CommentExtremity`.
RESULTS: tuple[type[JobResult], ...] = (
    ComponentsChunk,
    ParticipantProjection,
    BaseCluster,
    OpinionGroup,
    CommentStatistics,
    RepresentativeComment,
    ConsensusComment,
    CorrelationsChunk,
)
TABLES = (
    components_table,
    projections_table,
    base_clusters_table,
    groups_table,
    statistics_table,
    representatives_table,
    consensus_table,
    correlations_table,
)
