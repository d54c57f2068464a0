"""The API's representations of conversations, runs and comparisons."""

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
    group: str | None = Field(description="The group that it belongs to; null if it is open to everybody.")
    upload_id: UUID = Field(description="The current upload, which new jobs read.")
    created_at: datetime
    updated_at: datetime

    @classmethod
    def of(cls, conversation: StoredConversation) -> "ConversationView":
        """The view of a conversation."""
        return cls(**{name: getattr(conversation, name) for name in ConversationView.model_fields})


class UploadView(BaseModel):
    """An upload."""

    upload_id: UUID
    conversation_id: str
    created_at: datetime
    topic: str
    description: str
    n_comments: int
    n_votes: int = Field(description="The number of last votes of each participant on each comment, as in reports.")
    n_superseded: int = Field(description="The number of votes that were changed later.")
    n_participants: int

    @classmethod
    def of(cls, upload: Upload) -> "UploadView":
        """The view of an upload, without its content."""
        return cls(**{name: getattr(upload, name) for name in UploadView.model_fields})


class CommentView(BaseModel):
    """A comment of the current upload."""

    comment_id: int
    body: str | None = Field(description="Null for a comment that a moderator has rejected.")
    moderated: int = Field(description="-1 rejected by a moderator, 1 accepted, 0 not moderated.")
    is_meta: bool

    @classmethod
    def of(cls, comment: StoredComment) -> "CommentView":
        """The view of a comment, without its author, and without its text if it is rejected."""
        shown = {name: getattr(comment, name) for name in CommentView.model_fields}
        return cls(**shown | ({"body": None} if comment.moderated == -1 else {}))


class RunView(BaseModel):
    """One stage of one job on a conversation."""

    job_id: UUID
    stage: str
    conversation_id: str
    status: str = Field(description="RUNNING, COMPLETED, or the status of its job: FAILED or CANCELLED.")
    created_at: datetime
    completed_at: datetime | None
    parent_job_id: UUID | None
    root_job_id: UUID | None
    upload_id: UUID
    config: dict[str, Any]
    summary: dict[str, Any]

    @classmethod
    def of(cls, run: Run, rejections: Rejections, ended: JobStatus | None = None) -> "RunView":
        """The view of a run, without its history and later rejected comments. `ended` is the final status of its job, if known."""
        status = ended.value if ended is JobStatus.FAILED or ended is JobStatus.CANCELLED else run.status.value
        known = {name: getattr(run, name) for name in RunView.model_fields}
        return cls(**known | {"status": status, "summary": redact_summary(run.summary, rejections)})


class ConversationDetail(ConversationView):
    """A conversation with its current upload and the newest completed run of each stage."""

    upload: UploadView
    latest: dict[str, RunView]


class Artifact(BaseModel):
    """A file of a report. Everybody with the link can read it until the link expires."""

    name: str
    url: str


class SettingView(BaseModel):
    """A setting that differs between two runs."""

    stage: str
    name: str
    before: Any
    after: Any


class TopicChangeView(BaseModel):
    """A change of topics: `kept`, `split`, `merged`, `new` or `gone`."""

    kind: str
    before: list[str] = Field(description="Keys of topics of the earlier run.")
    after: list[str] = Field(description="Keys of topics of the later run.")
    comments: int = Field(description="The number of comments on both sides.")


class ComparisonView(BaseModel):
    """The differences between two runs."""

    before: UUID
    after: UUID
    settings: list[SettingView]
    differences: dict[str, Any] = Field(description="Differences of the votes stage: groups, moves, common ground, comments.")
    topics: list[TopicChangeView]


def result_view(row: JobResult, rejections: Rejections) -> dict[str, Any]:
    """A result as JSON, without later rejected comments. Values that are packed in the store are lists."""
    row = redact_row(row, rejections)
    if isinstance(row, BaseCluster):
        return row.model_dump(mode="json", exclude_none=True, exclude={"members"}) | {"members": unpack(row.members).tolist()}
    return row.model_dump(mode="json", exclude_none=True)


def key_parts(kind: type[JobResult], key: str) -> dict[str, Any] | None:
    """Parse the identifier of a result within its job into key components for `find`; None if it is not valid for this kind."""
    sort = kind.__spec__.key.range[0]
    names = [sort.attribute] if sort.text is None else [part.name for part in sort.text.template.placeholders]
    pieces = [key] if len(names) == 1 else key.split("#")
    if len(pieces) != len(names):
        return None
    numbers = {name for name in names if kind.model_fields[name].annotation == Attr[int]}
    if any(name in numbers and not (piece.isascii() and piece.isdecimal()) for name, piece in zip(names, pieces, strict=True)):
        return None
    return {name: int(piece) if name in numbers else piece for name, piece in zip(names, pieces, strict=True)}
