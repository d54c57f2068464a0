"""`/api/agents`: questions, runs with cancel, retry and approval, threads, files, health of MCP servers. The rest is in GraphQL."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Header, Request, Response
from fastapi.responses import JSONResponse
from pydantic import Field

from gateleg.apps.agents.erasing.threads import delete_whole_thread
from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.running import submission
from gateleg.apps.agents.running.approvals import Decision, decide_calls
from gateleg.apps.agents.running.files import store_question_file
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.run_end import cancel_run, retry_run
from gateleg.apps.agents.running.threads import find_run, find_thread
from gateleg.apps.agents.running.tools.mcp_servers import check_health
from gateleg.apps.agents.running.tools.registered import resolve_server
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tables import McpServer
from gateleg.apps.agents.tenancy import Context
from gateleg.apps.agents.thread_tables import Message, Run
from gateleg.apps.agents.web.contexts import context_of
from gateleg.apps.agents.web.views import CAMEL, AskedView, BegunJob, MessageView, RunView, View
from gateleg.host import Resources
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing
from gateleg.web.bodies import body_limit
from gateleg.web.uploads import UploadRules, form_body, receive_files, upload_folder

router = APIRouter()
Once = Annotated[
    str | None, Header(alias="Idempotency-Key", max_length=200, description="A repeated request with the same key returns the first run.")
]
#: The maximum size of an uploaded file, in bytes.
_FILE = 20_000_000


class NewQuestion(Question):
    """A question to an agent."""

    model_config = CAMEL


class NewDecision(Decision):
    """Whether a tool call may be made."""

    model_config = CAMEL


class NewDecisions(View):
    """Decisions on pending tool calls."""

    decisions: list[NewDecision] = Field(min_length=1, max_length=90)


class FileView(View):
    """A stored file, for use in `inputFiles`."""

    object_key: str
    media_type: str
    name: str


class HealthView(View):
    """The result of a health check of an MCP server."""

    ok: bool
    milliseconds: int
    tools: int
    message: str


def _own(call: ApiCall, request: Request) -> tuple[Resources[AgentsSettings], Context]:
    resources: Resources[AgentsSettings] = call.host.resources["agents"]
    return resources, context_of(request, resources)


async def _shown(resources: Resources[AgentsSettings], run: Run) -> RunView:
    return RunView.of(run, await read_run(resources.store, run.partition, run.thread_uuid, run.run_uuid))


@router.post("/ask", status_code=202)
async def ask(call: Using, request: Request, question: NewQuestion, once: Once = None) -> AskedView:
    """Ask an agent. A worker writes the answer: follow `events`, or read the run."""
    resources, context = _own(call, request)
    given: dict[str, Any] = question.model_dump()
    given |= {"idempotency_key": question.idempotency_key or once, "updated_by": question.updated_by or call.principal.name}
    return AskedView.of(await submission.ask(resources, context, Question.model_validate(given)))


@router.get("/threads/{thread_uuid}/messages")
async def list_messages(call: Using, request: Request, thread_uuid: str, cursor: Cursor = None, limit: Limit = 50) -> Listing[MessageView]:
    """List the messages of a thread, newest first."""
    resources, context = _own(call, request)
    await find_thread(resources.store, context, thread_uuid)
    question = Message.newest(partition=context.partition, thread_uuid=thread_uuid)
    page = await resources.store.page(question, limit=limit, cursor=cursor)
    return Listing(items=[MessageView.of(one) for one in page.items], next=page.next)


@router.delete(
    "/threads/{thread_uuid}", status_code=204, responses={202: {"model": BegunJob, "description": "The thread is large; a job deletes it."}}
)
async def delete_thread(call: Using, request: Request, thread_uuid: str) -> Response:
    """Delete a thread with its runs, messages, tool calls and files. A large one is deleted by a job."""
    resources, context = _own(call, request)
    job_id = await delete_whole_thread(resources, context, thread_uuid)
    if job_id is None:
        return Response(status_code=204)
    return JSONResponse(BegunJob(job_id=str(job_id)).model_dump(by_alias=True), 202)


@router.get("/threads/{thread_uuid}/runs/{run_uuid}")
async def read(call: Using, request: Request, thread_uuid: str, run_uuid: str) -> RunView:
    """Get a run with its messages and tool calls."""
    resources, context = _own(call, request)
    return await _shown(resources, await find_run(resources.store, context, thread_uuid, run_uuid))


@router.post("/threads/{thread_uuid}/runs/{run_uuid}/cancel")
async def cancel(call: Using, request: Request, thread_uuid: str, run_uuid: str) -> RunView:
    """Cancel a run that has not ended."""
    resources, context = _own(call, request)
    return await _shown(resources, await cancel_run(resources, context, thread_uuid, run_uuid))


@router.post("/threads/{thread_uuid}/runs/{run_uuid}/retry")
async def retry(call: Using, request: Request, thread_uuid: str, run_uuid: str) -> RunView:
    """Retry a failed or expired run from where it stopped."""
    resources, context = _own(call, request)
    return await _shown(resources, await retry_run(resources, context, thread_uuid, run_uuid))


@router.post("/threads/{thread_uuid}/runs/{run_uuid}/decisions")
async def decide(call: Using, request: Request, thread_uuid: str, run_uuid: str, given: NewDecisions) -> RunView:
    """Approve or deny pending tool calls. The run continues when all are decided."""
    resources, context = _own(call, request)
    return await _shown(resources, await decide_calls(resources, context, thread_uuid, run_uuid, given.decisions))


@router.put("/files/{name}", status_code=201, openapi_extra=form_body())
@body_limit(_FILE)
async def upload(call: Using, request: Request, name: str) -> FileView:
    """Upload a file for questions, as the body or in a form. Its media type is the `Content-Type` of the body, or told by its content."""
    resources, context = _own(call, request)
    async with upload_folder() as folder:
        (file,) = await receive_files(request, folder, UploadRules(_FILE))
        data = await asyncio.to_thread(file.path.read_bytes)
    sent_type = request.headers.get("content-type", "application/octet-stream").partition(";")[0].strip()
    media_type = file.content_type if sent_type.lower() == "multipart/form-data" else sent_type
    kept = await store_question_file(resources, context, name, media_type, data)
    return FileView(object_key=kept.object_key, media_type=kept.media_type, name=kept.name)


@router.get("/mcp-servers/{mcp_server_uuid}/health")
async def health(call: Using, request: Request, mcp_server_uuid: str) -> HealthView:
    """Check whether an MCP server of the tenant lists its tools, and measure how long it takes."""
    resources, context = _own(call, request)
    stored = await resources.store.find(McpServer, partition=context.partition, mcp_server_uuid=mcp_server_uuid)
    if stored is None:
        raise NotFoundInPartition(f"There is no MCP server {mcp_server_uuid!r}.")
    found = await check_health(await resolve_server(resources, context.partition, stored), resources.outgoing)
    return HealthView(ok=found.ok, milliseconds=found.milliseconds, tools=found.tools, message=found.message)
