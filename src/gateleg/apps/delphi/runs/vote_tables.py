"""The tables of results of the votes stage."""

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
    """The centre and the principal components for some of the comments; chunks are in the order of comment ids.

    1 means that everybody agrees, -1 that everybody disagrees.
    """

    chunk: Attr[int]
    comment_ids: Attr[Compressed[list[int]]]
    center: Attr[Compressed[list[float]]]
    #: one list per component
    components: Attr[Compressed[list[list[float]]]]
    #: one list per axis of the map
    comment_positions: Attr[Compressed[list[list[float]]]]
    #: the same in every chunk, as is `explained`
    singular_values: Attr[list[float]]
    explained: Attr[list[float]]

    key = Key("{job_id}", "{chunk}")


class ParticipantProjection(JobResult, table=projections_table):
    """A participant's position on the map, group and statistics."""

    participant_id: Attr[int]
    coordinates: Attr[list[float]]
    #: whether they have enough votes to be grouped
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
    """A base cluster: participants who lie close together on the map. Base clusters form groups."""

    cluster_id: Attr[int]
    center: Attr[list[float]]
    size: Attr[int]
    group_id: Attr[int]
    #: the participant ids, packed as differences
    members: Attr[bytes]

    key = Key("{job_id}", "{cluster_id}")


class SubgroupComment(Record):
    """A comment that distinguishes a subgroup from the other subgroups of its group."""

    comment_id: Attr[int]
    #: the side that most of the subgroup have taken
    side: Attr[Literal["agree", "disagree"]]
    #: the side that distinguishes the subgroup, to which the figures below refer
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
    #: the group that a subgroup belongs to
    parent_id: Attr[int | None] = field(None)
    center: Attr[list[float]]
    member_count: Attr[int]
    base_cluster_ids: Attr[Compressed[list[int]]]
    #: the mean silhouette by the number of groups tried
    silhouettes: Attr[dict[str, float]] = field(factory=dict)
    #: how well it reappears when some comments are left out, from 0 to 1
    stability: Attr[float | None] = field(None)
    #: only of subgroups, agreement before disagreement, with at least five votes; groups have `RepresentativeComment` rows
    representatives: Attr[list[SubgroupComment]] = field(factory=list, max_length=5)

    key = Key("{job_id}", "{group_key}")


class GroupVotes(Record):
    """The votes of a group on a comment, with the 95 % interval of its share of agreement."""

    agrees: Attr[int]
    disagrees: Attr[int]
    passes: Attr[int]
    agree_low: Attr[float | None] = field(None)
    agree_high: Attr[float | None] = field(None)
    #: whether the group has enough votes for its shares to be stated
    enough: Attr[bool | None] = field(None)


class CommentStatistics(JobResult, table=statistics_table):
    """The votes on a comment, and statistics of them."""

    comment_id: Attr[int]
    #: the weight for choosing it as the next comment to vote on
    priority: Attr[float]
    agrees: Attr[int]
    disagrees: Attr[int]
    passes: Attr[int]
    #: by group id
    groups: Attr[dict[str, GroupVotes]]
    #: the probability that random members of all groups, one of each, agree
    consensus_score: Attr[float]
    #: the mean over groups of the share that agrees among those who do not pass
    normalised_consensus: Attr[float]
    #: the distance from the centre of the map (how much groups differ is in `CommentExtremity`)
    map_extremity: Attr[float]
    #: whether moderation excludes it
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
    #: the side that distinguishes the group from the others, to which the figures below refer
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
    """A comment that most participants agree or disagree with, or that every group agrees with."""

    #: `common`: a majority of every group agrees, beyond chance
    kind: Attr[Literal["agree", "disagree", "common"]]
    rank: Attr[int]
    comment_id: Attr[int]
    n_success: Attr[int | None] = field(None)
    n_trials: Attr[int | None] = field(None)
    p_success: Attr[float | None] = field(None)
    p_test: Attr[float | None] = field(None)
    #: only of `common`: the lower bound of agreement in the group that agrees least, and this group's id
    at_least: Attr[float | None] = field(None)
    least_in: Attr[int | None] = field(None)

    key = Key("{job_id}", "{kind}#{rank:04d}")


class CorrelationsChunk(JobResult, table=correlations_table):
    """Some rows of the matrix of correlations between comments."""

    chunk: Attr[int]
    #: the columns of the matrix, in an order that puts similar comments side by side
    comment_ids: Attr[Compressed[list[int]]]
    #: the index of the first of these rows
    first_row: Attr[int]
    #: correlations with four decimals
    rows: Attr[Compressed[list[list[float]]]]

    key = Key("{job_id}", "{chunk}")


#: The results of the votes stage, besides `CommentExtremity`.
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
