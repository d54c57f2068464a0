"""Conversations and what was uploaded to them, the runs of jobs, and which run is the latest."""

from datetime import datetime
from typing import Any
from uuid import UUID

from gateleg.apps.delphi.tables import JobResult, results_table
from gateleg.model import (
    GSI,
    Attr,
    Compressed,
    Entity,
    JsonText,
    Key,
    Pattern,
    States,
    Table,
    Version,
    field,
    new_uuid,
    required,
    stamp,
    state,
)

conversations_table = Table("Delphi_Conversations", hash="conversation_id", indexes=[GSI("RecentIndex", hash="listing", range="listed_at")])
uploads_table = Table("Delphi_Uploads", hash="upload_id", indexes=[GSI("ConversationIndex", hash="conversation_id", range="created_at")])
comments_table = Table("Delphi_Comments", hash="upload_id", range="comment_id")
votes_table = Table("Delphi_Votes", hash="upload_id", range="chunk")
runs_table = Table(
    "Delphi_Runs",
    hash="job_id",
    range="stage",
    indexes=[
        GSI("ConversationIndex", hash="conversation_id", range="created_at"),
        GSI("RootIndex", hash="root_job_id", range="created_at"),
    ],
)
latest_table = Table("Delphi_LatestRuns", hash="conversation_id", range="stage")
narratives_table = results_table("Delphi_NarrativeReports", "section")


class StoredConversation(Entity, table=conversations_table):
    """A conversation, and which of its uploads counts."""

    conversation_id: Attr[str] = required(min_length=1, max_length=200)
    topic: Attr[str] = field("")
    #: whose it is; without a group it is open to all who are let in
    group: Attr[str | None] = field(None)
    #: the tenant of who uploaded it first; what has neither tenant nor group is the host's, for everybody
    tenant: Attr[str | None] = field(None)
    upload_id: Attr[UUID]
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    version: Attr[Version] = field(0)

    key = Key("{conversation_id}")
    listing_key = Key("conversations", "{updated_at}", index="RecentIndex", shards=4)
    recent = Pattern("RecentIndex", title="All conversations, the last changed first", order="desc")


class Upload(Entity, table=uploads_table):
    """One upload of comments and votes. It is never changed: runs say which one they read."""

    upload_id: Attr[UUID] = new_uuid()
    conversation_id: Attr[str]
    created_at: Attr[datetime] = stamp(on="create")
    topic: Attr[str] = field("")
    description: Attr[str] = field("")
    n_comments: Attr[int] = field(0)
    #: the last vote of each participant on each comment, as reports count them; who was taken out by moderators does not count
    n_votes: Attr[int] = field(0)
    #: votes that were changed later; they are kept, for what is said about the time before
    n_superseded: Attr[int] = field(0)
    n_participants: Attr[int] = field(0)
    #: how many items hold the votes
    chunks: Attr[int] = field(0)
    #: participants whose votes a moderator has taken out, packed as differences
    removed_participants: Attr[bytes | None] = field(None)
    #: the other figures of an export's summary
    summary: Attr[dict[str, str]] = field(factory=dict)

    key = Key("{upload_id}")
    of_conversation = Pattern("ConversationIndex", title="The uploads of a conversation, newest first", order="desc")


class StoredComment(Entity, table=comments_table):
    """One comment of an upload."""

    upload_id: Attr[UUID]
    comment_id: Attr[int]
    body: Attr[str]
    author_id: Attr[int | None] = field(None)
    commented_at: Attr[datetime | None] = field(None)
    #: -1 rejected by a moderator, 1 accepted, 0 not looked at
    moderated: Attr[int] = field(0, ge=-1, le=1)
    is_meta: Attr[bool] = field(False)

    key = Key("{upload_id}", "{comment_id}")
    of_upload = Pattern(title="The comments of an upload, by id")


class VotesChunk(Entity, table=votes_table):
    """Some thousand votes of an upload, packed column by column as differences."""

    upload_id: Attr[UUID]
    chunk: Attr[int]
    participants: Attr[bytes]
    comments: Attr[bytes]
    choices: Attr[bytes]
    times: Attr[bytes]

    key = Key("{upload_id}", "{chunk}")
    of_upload = Pattern(title="The votes of an upload, by participant and comment")


class RunStatus(States):
    """The life of a run."""

    RUNNING = state("RUNNING", to=["COMPLETED"])
    #: a worker that was lost after its last write leaves a completed run, which the next worker begins again
    COMPLETED = state("COMPLETED", to=["RUNNING"])


class Run(Entity, table=runs_table):
    """One stage of one job on one conversation: what it was told, what it read and what it has found."""

    job_id: Attr[UUID]
    #: PCA, UMAP, REPORT
    stage: Attr[str]
    conversation_id: Attr[str]
    created_at: Attr[datetime]
    completed_at: Attr[datetime | None] = field(None)
    parent_job_id: Attr[UUID | None] = field(None)
    root_job_id: Attr[UUID | None] = field(None)
    status: Attr[RunStatus] = field(RunStatus.RUNNING)
    upload_id: Attr[UUID]
    config: Attr[JsonText[dict[str, Any]]] = field(factory=dict)
    #: figures for whoever looks at a list of runs
    summary: Attr[JsonText[dict[str, Any]]] = field(factory=dict)
    #: how the conversation went, of runs that replayed it
    history: Attr[Compressed[list[dict[str, int]]]] = field(factory=list)

    key = Key("{job_id}", "{stage}")
    of_job = Pattern(title="The stages of a job")
    of_conversation = Pattern("ConversationIndex", title="The runs of a conversation, newest first", order="desc")
    of_root = Pattern("RootIndex", title="The stages of a pipeline, in the order in which they began")


class LatestRun(Entity, table=latest_table):
    """Which completed run of a stage is the newest of a conversation."""

    conversation_id: Attr[str]
    stage: Attr[str]
    job_id: Attr[UUID]
    #: when the job was submitted: a slow old run does not displace a newer one
    run_created_at: Attr[datetime]

    key = Key("{conversation_id}", "{stage}")
    of_conversation = Pattern(title="The newest completed run of each stage")


class NarrativeSection(JobResult, table=narratives_table):
    """One section of a report in words."""

    #: `overview`, `groups`, `group_informed_consensus`, `uncertainty`, or a topic's `layer0_3`
    section: Attr[str]
    title: Attr[str]
    #: where it stands in the report
    place: Attr[int] = field(0)
    #: who wrote it: `templates`, or the address of a model
    model: Attr[str]
    #: paragraphs of sentences of clauses, each with the comments that it cites
    body: Attr[Compressed[dict[str, Any]]]

    key = Key("{job_id}", "{section}")


TABLES = (conversations_table, uploads_table, comments_table, votes_table, runs_table, latest_table, narratives_table)
