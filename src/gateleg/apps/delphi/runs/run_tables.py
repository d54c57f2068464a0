"""The tables of conversations, uploads, runs and reports."""

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
    """A conversation, with its current upload."""

    conversation_id: Attr[str] = required(min_length=1, max_length=200)
    topic: Attr[str] = field("")
    #: the group that it belongs to; without one, it is open to everybody in the tenant
    group: Attr[str | None] = field(None)
    #: the tenant of the first uploader; without tenant and group, the conversation is open to everybody
    tenant: Attr[str | None] = field(None)
    upload_id: Attr[UUID]
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    version: Attr[Version] = field(0)

    key = Key("{conversation_id}")
    listing_key = Key("conversations", "{updated_at}", index="RecentIndex", shards=4)
    recent = Pattern("RecentIndex", title="All conversations, most recently changed first", order="desc")


class Upload(Entity, table=uploads_table):
    """One upload of comments and votes. Immutable; each run records which upload it read."""

    upload_id: Attr[UUID] = new_uuid()
    conversation_id: Attr[str]
    created_at: Attr[datetime] = stamp(on="create")
    topic: Attr[str] = field("")
    description: Attr[str] = field("")
    n_comments: Attr[int] = field(0)
    #: the number of last votes of participants on comments, as reports count them; without excluded participants
    n_votes: Attr[int] = field(0)
    #: the number of votes that were changed later; they are stored for the timeline
    n_superseded: Attr[int] = field(0)
    n_participants: Attr[int] = field(0)
    #: the number of items that hold the votes
    chunks: Attr[int] = field(0)
    #: participants whom a moderator has excluded, packed as differences
    removed_participants: Attr[bytes | None] = field(None)
    #: the other rows of the export's summary
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
    #: -1 rejected by a moderator, 1 accepted, 0 not moderated
    moderated: Attr[int] = field(0, ge=-1, le=1)
    is_meta: Attr[bool] = field(False)

    key = Key("{upload_id}", "{comment_id}")
    of_upload = Pattern(title="The comments of an upload, by id")


class VotesChunk(Entity, table=votes_table):
    """A chunk of the votes of an upload, with packed columns."""

    upload_id: Attr[UUID]
    chunk: Attr[int]
    participants: Attr[bytes]
    comments: Attr[bytes]
    choices: Attr[bytes]
    times: Attr[bytes]

    key = Key("{upload_id}", "{chunk}")
    of_upload = Pattern(title="The votes of an upload, by participant and comment")


class RunStatus(States):
    """The status of a run."""

    RUNNING = state("RUNNING", to=["COMPLETED"])
    #: if a worker dies after its last write, the next one restarts the completed run
    COMPLETED = state("COMPLETED", to=["RUNNING"])


class Run(Entity, table=runs_table):
    """One stage of one job on one conversation: its config, the upload that it read, and its figures."""

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
    #: figures for lists of runs
    summary: Attr[JsonText[dict[str, Any]]] = field(factory=dict)
    #: the updates of a replay
    history: Attr[Compressed[list[dict[str, int]]]] = field(factory=list)

    key = Key("{job_id}", "{stage}")
    of_job = Pattern(title="The stages of a job")
    of_conversation = Pattern("ConversationIndex", title="The runs of a conversation, newest first", order="desc")
    of_root = Pattern("RootIndex", title="The stages of a pipeline, oldest first")


class LatestRun(Entity, table=latest_table):
    """The newest completed run of each stage of a conversation."""

    conversation_id: Attr[str]
    stage: Attr[str]
    job_id: Attr[UUID]
    #: when the job was submitted, so that a slow old run does not replace a newer one
    run_created_at: Attr[datetime]

    key = Key("{conversation_id}", "{stage}")
    of_conversation = Pattern(title="The newest completed run of each stage")


class NarrativeSection(JobResult, table=narratives_table):
    """One section of a report's text."""

    #: `overview`, `groups`, `group_informed_consensus`, `uncertainty`, or a topic's `layer0_3`
    section: Attr[str]
    title: Attr[str]
    #: its position in the report
    place: Attr[int] = field(0)
    #: the author: `templates`, or the address of a model
    model: Attr[str]
    #: paragraphs of sentences of clauses, each clause with the comments that it cites
    body: Attr[Compressed[dict[str, Any]]]

    key = Key("{job_id}", "{section}")


TABLES = (conversations_table, uploads_table, comments_table, votes_table, runs_table, latest_table, narratives_table)
