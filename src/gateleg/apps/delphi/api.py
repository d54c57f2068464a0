"""`/api/delphi/conversations`: list conversations, upload to them, and submit and list their jobs and runs.

The results of runs are in `run_api`.
"""

import asyncio
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic import AfterValidator, AliasChoices, AwareDatetime, BaseModel, ConfigDict, Field

from gateleg.apps.delphi import rules, service
from gateleg.apps.delphi.conversations.conversation import Conversation
from gateleg.apps.delphi.opinions.modes import CHOICE
from gateleg.apps.delphi.runs.deletion import check_idle, delete_conversation
from gateleg.apps.delphi.runs.pipeline import PIPELINE, models_of
from gateleg.apps.delphi.runs.rejections import load_rejections
from gateleg.apps.delphi.runs.reprocessing import reprocess
from gateleg.apps.delphi.runs.run_tables import LatestRun, Run, RunStatus, StoredComment, StoredConversation
from gateleg.apps.delphi.runs.withdrawal import withdraw_rejected
from gateleg.apps.delphi.tables import JobResult
from gateleg.apps.delphi.web.upload_reader import read_upload
from gateleg.apps.delphi.web.uploaded_files import UploadLimits
from gateleg.apps.delphi.web.views import CommentView, ConversationDetail, ConversationView, RunView, UploadView, result_view
from gateleg.host import submitted_by
from gateleg.host.actions.jobs import SubmissionResult
from gateleg.host.errors import BadRequest, Unknown
from gateleg.host.job_views import JobDetail, JobView
from gateleg.jobs import Job, JobMissing
from gateleg.jobs.submission import JobAttributes
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing
from gateleg.web.uploads import upload_folder, upload_slot

router = APIRouter()
Name = Annotated[str, Path(min_length=1, max_length=200, description="The id of a conversation.")]


def whole_text(text: str) -> str:
    """Return the text if UTF-8 can encode it. JSON may contain a lone surrogate."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"character {error.start} is a lone surrogate") from None
    return text


Text = Annotated[str, AfterValidator(whole_text)]
Csv = Annotated[Text, Field(description="The text of a CSV file with its header.")]
Stage = Literal["PCA", "UMAP", "REPORT"]
JobType = Literal["PCA", "UMAP", "REPORT", "FULL_PIPELINE"]
#: The tables of results, by name.
RESULTS: dict[str, type[JobResult]] = {kind.__spec__.table.name: kind for kind in service.RESULTS}


class NewUpload(BaseModel):
    """The files of a conversation, in the formats of Polis's exports."""

    model_config = ConfigDict(extra="forbid")

    votes: Csv
    comments: Csv
    flags: Csv | None = Field(default=None, description="CSV with comment-id, is-meta and moderated, which exports leave out.")
    participants: Csv | None = Field(default=None, description="CSV with voter-id and moderated: -1 takes a participant out.")
    topic: Text = Field(default="", max_length=1000)
    description: Text = Field(default="", max_length=20_000)
    group: Text | None = Field(
        default=None, min_length=1, max_length=200, description="The group that a new conversation belongs to; null opens it to everybody."
    )


class NewJob(JobAttributes, defer_build=False):
    """A job on a conversation, which is its subject."""

    subject: Text | None = Field(
        default=None,
        validation_alias=AliasChoices("subject", "conversation_id"),
        description="The conversation, if it is given here too; that of the address.",
    )
    job_type: JobType
    config: dict[str, Any] = Field(
        default={},
        validation_alias=AliasChoices("config", "job_config"),
        description=f"The config of the job type. `PCA` takes `mode`, `improved` or `exact`: {CHOICE}",
    )


async def visible_conversation(call: ApiCall, name: str) -> StoredConversation:
    """The conversation, if the caller may see it."""
    return rules.check_visible(call.principal, await call.host.store.find(StoredConversation, conversation_id=name, consistent=True), name)


async def run_view(call: ApiCall, run: Run) -> RunView:
    """A run as the API shows it. The status of a run that is not completed comes from its job, which may have failed or been cancelled."""
    rejections = await load_rejections(call.host.store, run.conversation_id)
    if run.status is RunStatus.COMPLETED:
        return RunView.of(run, rejections)
    try:
        return RunView.of(run, rejections, (await call.host.queue.get_or_archived(run.job_id)).status)
    except JobMissing:
        return RunView.of(run, rejections)


async def withdraw(call: ApiCall, conversation: str) -> None:
    """Remove comments that an upload has rejected from the earlier runs of a conversation."""
    job = await withdraw_rejected(call.host.store, call.host.objects, call.host.queue, conversation, call.principal.name)
    if job is not None:
        await call.note("delphi.withdraw", conversation, job_id=str(job.job_id))


def kind_of(table: str) -> type[JobResult]:
    """The entity class of a table of results."""
    if table not in RESULTS:
        raise Unknown(f"There is no table of results {table!r}.", fix=f"Use one of {', '.join(RESULTS)}.")
    return RESULTS[table]


@router.get("/conversations")
async def list_conversations(call: Using, limit: Limit = 50, cursor: Cursor = None) -> Listing[ConversationView]:
    """The conversations that the caller may see, most recently changed first. Pages before the last may be short or empty."""
    question, condition = StoredConversation.recent(), rules.visible_condition(call.principal)
    if condition is not None:
        question = question.filter(condition)
    page = await call.host.store.page(question, limit=limit, cursor=cursor)
    return Listing(items=[ConversationView.of(one) for one in page], next=page.next)


@router.get("/conversations/{conversation}")
async def get_conversation(call: Using, conversation: Name) -> ConversationDetail:
    """A conversation with its figures and the newest completed run of each stage."""
    found, store = await visible_conversation(call, conversation), call.host.store
    upload = await service.find_upload(store, conversation, found.upload_id)
    latest: dict[str, RunView] = {}
    async for pointer in store.query(LatestRun.of_conversation, conversation_id=conversation, consistent=True):
        run = await store.find(Run, job_id=pointer.job_id, stage=pointer.stage, consistent=True)
        if run is not None:
            latest[run.stage] = await run_view(call, run)
    return ConversationDetail(**ConversationView.of(found).model_dump(), upload=UploadView.of(upload), latest=latest)


@router.put("/conversations/{conversation}")
async def upload(call: Using, conversation: Name, new: NewUpload) -> UploadView:
    """Upload votes and comments: create a conversation, or replace the earlier upload. If rows cannot be read, the error lists them by
    line and nothing is stored."""
    current = await call.host.store.find(StoredConversation, conversation_id=conversation, consistent=True)
    rules.check_upload(call.principal, current, new.group)
    async with upload_slot(call.principal):
        read = await read_files(conversation, new, UploadLimits.of(call.host.settings))
        made = await service.upload_conversation(
            call.host.store,
            read,
            group=new.group,
            tenant=call.principal.tenant,
            check=lambda there: rules.check_upload(call.principal, there, new.group),
        )
    await withdraw(call, conversation)
    await call.note("delphi.upload", conversation, upload_id=str(made.upload_id), votes=made.n_votes)
    return UploadView.of(made)


async def read_files(conversation: str, new: NewUpload, bounds: UploadLimits) -> Conversation:
    """Read the conversation from the texts in the request."""
    sent = {"votes": new.votes, "comments": new.comments, "flags": new.flags, "participants": new.participants}
    async with upload_folder() as folder:
        paths = {name: folder / f"{name}.csv" for name, text in sent.items() if text is not None}
        for name, path in paths.items():
            await asyncio.to_thread(path.write_bytes, (sent[name] or "").encode())
        return await read_upload(
            list(paths.values()), folder, bounds, conversation, topic=new.topic, description=new.description, kinds=list(paths)
        )


class DeletedConversation(BaseModel):
    """What was deleted with a conversation."""

    results: int
    files: int
    uploads: int
    runs: int


@router.delete("/conversations/{conversation}")
async def delete(call: Using, conversation: Name) -> DeletedConversation:
    """Delete a conversation with its uploads, comments, votes, runs, results and files. This cannot be undone. It is refused while a job
    on it is waiting or running."""
    rules.check_change(call.principal, await visible_conversation(call, conversation))
    await check_idle(call.host.queue, conversation)
    deleted = await delete_conversation(call.host.store, call.host.objects, conversation)
    await call.note("delphi.delete", conversation, **deleted)
    return DeletedConversation(**deleted)


@router.get("/conversations/{conversation}/comments")
async def list_comments(call: Using, conversation: Name, limit: Limit = 50, cursor: Cursor = None) -> Listing[CommentView]:
    """The comments of the current upload, by id."""
    found = await visible_conversation(call, conversation)
    page = await call.host.store.page(StoredComment.of_upload(upload_id=found.upload_id), limit=limit, cursor=cursor)
    return Listing(items=[CommentView.of(one) for one in page], next=page.next)


@router.get("/conversations/{conversation}/runs")
async def list_runs(call: Using, conversation: Name, limit: Limit = 50, cursor: Cursor = None) -> Listing[RunView]:
    """The runs of a conversation, newest first, whether completed or not."""
    await visible_conversation(call, conversation)
    page = await call.host.store.page(Run.of_conversation(conversation_id=conversation), limit=limit, cursor=cursor)
    return Listing(items=[await run_view(call, run) for run in page], next=page.next)


@router.get("/conversations/{conversation}/runs/latest")
async def get_latest_run(call: Using, conversation: Name, stage: Stage = "PCA") -> RunView:
    """The newest completed run of a stage."""
    await visible_conversation(call, conversation)
    return await run_view(call, await service.latest_run(call.host.store, conversation, stage))


@router.get("/conversations/{conversation}/results/{table}")
async def list_results_of_conversation(
    call: Using,
    conversation: Name,
    table: str,
    since: Annotated[AwareDatetime | None, Query(description="Only results written at or after this time.")] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[dict[str, Any]]:
    """The results of one table from all runs of a conversation, newest first."""
    await visible_conversation(call, conversation)
    kind = kind_of(table)
    question = kind.of_conversation(conversation_id=conversation)
    if since is not None:
        question = question.where(kind.created_at >= since)
    page = await call.host.store.page(question, limit=limit, cursor=cursor)
    rejections = await load_rejections(call.host.store, conversation)
    return Listing(items=[result_view(row, rejections) for row in page], next=page.next)


@router.post("/conversations/{conversation}/jobs", status_code=201)
async def submit(call: Using, response: Response, conversation: Name, new: NewJob) -> SubmissionResult:
    """Submit a job on a conversation: one stage, or all of them as a pipeline. The config is validated immediately.

    Returns 200 instead of 201 if its key was taken. Jobs that it names, and jobs that hold its keys, are of the same conversation.
    """
    rules.check_change(call.principal, await visible_conversation(call, conversation))
    rules.check_models(call.principal, models_of(new.job_type, new.config))
    if new.subject not in (None, conversation):
        raise BadRequest(
            f"The job is about {new.subject!r}, and was sent to the conversation {conversation!r}.", fix="Leave `subject` out."
        )
    if new.queue is not None or new.concurrency_key is not None:
        rules.check_shared_attributes(call.principal)
    queue = call.host.queue
    named = [*new.dependencies, *([new.parent_job_id] if new.parent_job_id is not None else [])]
    for job in await queue.read_jobs(named):
        _check_of_conversation(job, conversation)
    attributes = new.model_copy(update={"subject": conversation})
    answer = await queue.submit(submitted_by(call.principal, attributes.submission(new.job_type, new.config)))
    _check_of_conversation(answer.job, conversation)
    if answer.created:
        await call.note("delphi.submit", conversation, job_id=str(answer.job.job_id), job_type=answer.job.job_type)
    else:
        response.status_code = 200
    response.headers["Location"] = f"/api/delphi/jobs/{answer.job.job_id}"
    return SubmissionResult(job=JobDetail.of(answer.job), created=answer.created)


def _check_of_conversation(job: Job, conversation: str) -> None:
    """Raise `JobMissing` for a job about something else, of which the caller may not know."""
    if job.subject != conversation:
        raise JobMissing("A job that is named here, or that has this id or key, is not about this conversation.")


class ReprocessRequest(BaseModel):
    """Conversations to run again."""

    model_config = ConfigDict(extra="forbid")

    conversations: list[Text] | None = Field(default=None, min_length=1, max_length=1000, description="Their ids; all of them if null.")
    config: dict[str, Any] = Field(default={}, description="The config of the pipelines.")


@router.post("/reprocess", status_code=201)
async def reprocess_conversations(call: Using, new: ReprocessRequest) -> list[JobView]:
    """Submit a pipeline for all or some conversations. Earlier runs are kept. Operators only."""
    rules.check_operator(call.principal)
    rules.check_models(call.principal, models_of(PIPELINE, new.config))
    jobs = await reprocess(call.host.store, call.host.queue, new.conversations, new.config, call.principal.name)
    await call.note("delphi.reprocess", "*" if new.conversations is None else ", ".join(new.conversations)[:500], jobs=len(jobs))
    return [JobView.of(job) for job in jobs]
