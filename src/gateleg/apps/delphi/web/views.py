"""Conversations, runs and comparisons as the API shows them."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field

from gateleg.apps.delphi.runs.chunks import unpack
from gateleg.apps.delphi.runs.redacted_rows import redact_row, redact_summary
from gateleg.apps.delphi.runs.rejections import Rejections
from gateleg.apps.delphi.runs.run_tables import Run, StoredComment, StoredConversation, Upload
from gateleg.apps.delphi.runs.vote_tables import BaseCluster
from gateleg.apps.delphi.tables import JobResult
from gateleg.jobs import JobStatus
from gateleg.model import Attr


class ConversationView(BaseModel):
    """A conversation in a list."""

    conversation_id: str
    topic: str
    group: str | None = Field(description="Whose it is; null when it is open to all who are let in.")
    upload_id: UUID = Field(description="What jobs read from now on.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, conversation: StoredConversation) -> "ConversationView":
        """A conversation."""
        return cls(**{name: getattr(conversation, name) for name in ConversationView.model_fields})


class UploadView(BaseModel):
    """What was uploaded."""

    upload_id: UUID
    conversation_id: str
    created_at: datetime
    topic: str
    description: str
    n_comments: int
    n_votes: int = Field(description="The last vote of each participant on each comment, as reports count them.")
    n_superseded: int = Field(description="Votes that were changed later.")
    n_participants: int

    @classmethod
    def of(cls, upload: Upload) -> "UploadView":
        """An upload, without its content."""
        return cls(**{name: getattr(upload, name) for name in UploadView.model_fields})


class CommentView(BaseModel):
    """A comment of the upload that counts."""

    comment_id: int
    body: str | None = Field(description="Null for a comment that a moderator has rejected.")
    moderated: int = Field(description="-1 rejected by a moderator, 1 accepted, 0 not reviewed.")
    is_meta: bool

    @classmethod
    def of(cls, comment: StoredComment) -> "CommentView":
        """A comment. Its author is left out, and so is the text of a rejected one."""
        shown = {name: getattr(comment, name) for name in CommentView.model_fields}
        return cls(**shown | ({"body": None} if comment.moderated == -1 else {}))


class RunView(BaseModel):
    """One stage of one job on a conversation."""

    job_id: UUID
    stage: str
    conversation_id: str
    status: str = Field(description="RUNNING, COMPLETED, or FAILED or CANCELLED as its job has ended.")
    created_at: datetime
    completed_at: datetime | None
    parent_job_id: UUID | None
    root_job_id: UUID | None
    upload_id: UUID
    config: dict[str, Any]
    summary: dict[str, Any]

    @classmethod
    def of(cls, run: Run, rejections: Rejections, ended: JobStatus | None = None) -> "RunView":
        """A run, without its history and what was rejected since; `ended` is what has become of its job, if that is known."""
        status = ended.value if ended is JobStatus.FAILED or ended is JobStatus.CANCELLED else run.status.value
        known = {name: getattr(run, name) for name in RunView.model_fields}
        return cls(**known | {"status": status, "summary": redact_summary(run.summary, rejections)})


class ConversationDetail(ConversationView):
    """A conversation, what counts of it now, and the newest completed run of each stage."""

    upload: UploadView
    latest: dict[str, RunView]


class Artifact(BaseModel):
    """A file of a report: who has its link may read it until the link expires."""

    name: str
    url: str


class SettingView(BaseModel):
    """A setting that two runs were given differently."""

    stage: str
    name: str
    before: Any
    after: Any


class TopicChangeView(BaseModel):
    """What has become of topics: `kept`, `split`, `merged`, `new` or `gone`."""

    kind: str
    before: list[str] = Field(description="Keys of topics of the earlier run.")
    after: list[str] = Field(description="Keys of topics of the later run.")
    comments: int = Field(description="How many comments both sides have.")


class ComparisonView(BaseModel):
    """What differs between two runs."""

    before: UUID
    after: UUID
    settings: list[SettingView]
    differences: dict[str, Any] = Field(description="Of the votes: groups, who moved, common ground, comments.")
    topics: list[TopicChangeView]


def result_view(row: JobResult, rejections: Rejections) -> dict[str, Any]:
    """A result as JSON, without what was rejected since it was found; what is packed in the store is a list here."""
    row = redact_row(row, rejections)
    if isinstance(row, BaseCluster):
        return row.model_dump(mode="json", exclude_none=True, exclude={"members"}) | {"members": unpack(row.members).tolist()}
    return row.model_dump(mode="json", exclude_none=True)


def key_parts(kind: type[JobResult], key: str) -> dict[str, Any] | None:
    """What the identifier of a result within its job is made of, as `find` takes it; None for what is not an identifier of the kind."""
    sort = kind.__spec__.key.range[0]
    names = [sort.attribute] if sort.text is None else [part.name for part in sort.text.template.placeholders]
    pieces = [key] if len(names) == 1 else key.split("#")
    if len(pieces) != len(names):
        return None
    numbers = {name for name in names if kind.model_fields[name].annotation == Attr[int]}
    if any(name in numbers and not (piece.isascii() and piece.isdecimal()) for name, piece in zip(names, pieces, strict=True)):
        return None
    return {name: int(piece) if name in numbers else piece for name, piece in zip(names, pieces, strict=True)}
