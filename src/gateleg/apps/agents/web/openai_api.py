"""`/v1/chat/completions` and `/v1/models`: agents for clients of OpenAI's API. Each request is a run on the job queue."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import orjson
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.responses import JSONResponse, StreamingResponse
from starlette.routing import Route

from gateleg.ai.errors import BadStructure, ContentRefused, ContextExceeded, SpendCapReached
from gateleg.apps.agents.errors import BadCompletion
from gateleg.apps.agents.running.directory import find_named_agent, list_agents
from gateleg.apps.agents.running.files import store_question_file
from gateleg.apps.agents.running.frame_stream import follow_run
from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.submission import ask
from gateleg.apps.agents.running.threads import find_run
from gateleg.apps.agents.running.transcripts import read_run
from gateleg.apps.agents.thread_tables import RunStatus
from gateleg.apps.agents.web.contexts import context_of
from gateleg.apps.agents.web.openai_messages import CompletionRequest, conversation_of
from gateleg.errors import GatelegError
from gateleg.host import Surface

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from datetime import datetime

    from starlette.requests import Request
    from starlette.responses import Response

    from gateleg.apps.agents.running.frames import Frame
    from gateleg.apps.agents.running.submission import SubmittedRun
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import Agent
    from gateleg.apps.agents.tenancy import Context
    from gateleg.apps.agents.thread_tables import Run
    from gateleg.host import Resources

__all__ = ["openai_surface"]

#: The maximum size of a request with its images, in bytes.
_BODY = 20_000_000
_ONCE = "Idempotency-Key"
#: The statuses of failed runs, by the code of their error; 502 for all others.
_STATUSES = {error.code: error.status for error in (SpendCapReached, ContextExceeded, ContentRefused, BadStructure)}


def openai_surface(resources: Resources[AgentsSettings]) -> Surface:
    """The surface at `/v1`."""
    api = _Api(resources)
    routes = [
        Route("/chat/completions", _told(api.complete), methods=["POST"]),
        Route("/models", _told(api.models), methods=["GET"]),
        Route("/models/{name:path}", _told(api.model), methods=["GET"]),
    ]
    return Surface("/v1", Starlette(routes=routes), body_limit=_BODY)


def _told(answer: Any) -> Any:
    """Return errors in the format of OpenAI's API."""

    async def endpoint(request: Request) -> Response:
        try:
            found: Response = await answer(request)
        except GatelegError as error:
            return _refused(error)
        return found

    return endpoint


def _refused(error: GatelegError) -> JSONResponse:
    message = error.public_text
    kind = "invalid_request_error" if error.status < 500 else "server_error"
    return JSONResponse({"error": {"message": message, "type": kind, "param": None, "code": error.code}}, error.status)


class _Api:
    def __init__(self, resources: Resources[AgentsSettings]) -> None:
        self._resources = resources

    async def models(self, request: Request) -> Response:
        """List the agents of the tenant as models."""
        context = context_of(request, self._resources)
        agents = await list_agents(self._resources.store, context.partition)
        return JSONResponse({"object": "list", "data": [_model(name, agent) for name, agent in agents.items()]})

    async def model(self, request: Request) -> Response:
        """Get an agent as a model."""
        context, name = context_of(request, self._resources), request.path_params["name"]
        return JSONResponse(_model(name, await find_named_agent(self._resources.store, context.partition, name)))

    async def complete(self, request: Request) -> Response:
        """Ask an agent; the answer is a chat completion."""
        if "json" not in request.headers.get("content-type", "").lower():
            raise BadCompletion("The body is not JSON.", fix="Send the header `Content-Type: application/json`.")
        # In a thread, because a body may contain files of many megabytes.
        asked = await asyncio.to_thread(_parsed, await request.body())
        asked.check()
        context = context_of(request, self._resources)
        agent = await find_named_agent(self._resources.store, context.partition, asked.model)
        run = await self._ask(context, agent, asked, request.headers.get(_ONCE))
        if asked.stream:
            chunks = _Chunks(
                asked.model,
                run.run_uuid,
                created=self._resources.store.setup.now(),
                usage=bool((asked.stream_options or {}).get("include_usage")),
            )
            frames = await follow_run(self._resources, context, run.thread_uuid, run.run_uuid)
            headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **_ids(run)}
            return StreamingResponse(chunks.of(frames), media_type="text/event-stream", headers=headers)
        return await self._whole(context, run, asked.model)

    async def _ask(self, context: Context, agent: Agent, asked: CompletionRequest, once: str | None) -> SubmittedRun:
        conversation = conversation_of(asked.messages)
        files = [await store_question_file(self._resources, context, one.name, one.media_type, one.data) for one in conversation.files]
        try:
            question = Question(
                agent_uuid=agent.agent_uuid,
                user_query=conversation.question,
                history=conversation.history,
                input_files=files,
                options=asked.options,
                output_schema=asked.output_schema,
                idempotency_key=once,
                updated_by=context.principal.name,
            )
        except ValidationError as error:
            raise BadCompletion(str(error.errors(include_url=False, include_input=False)[0]["msg"])) from None
        return await ask(self._resources, context, question)

    async def _whole(self, context: Context, asked: SubmittedRun, model: str) -> Response:
        async for _ in await follow_run(self._resources, context, asked.thread_uuid, asked.run_uuid):
            pass
        run = await find_run(self._resources.store, context, asked.thread_uuid, asked.run_uuid)
        if run.status is not RunStatus.COMPLETED:
            return _failed(run)
        transcript = await read_run(self._resources.store, run.partition, run.thread_uuid, run.run_uuid)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": transcript.messages[-1].message, "refusal": None},
            "finish_reason": _finish(run.finish),
            "logprobs": None,
        }
        body = {**_head("chat.completion", run.run_uuid, model, run.created_at), "choices": [choice], "usage": _usage(run)}
        return JSONResponse(body, headers=_ids(asked))


def _parsed(body: bytes) -> CompletionRequest:
    try:
        return CompletionRequest.model_validate_json(body)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise BadCompletion(f"{'.'.join(map(str, problem['loc'])) or 'The body'}: {problem['msg']}.") from None


def _model(name: str, agent: Agent) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": int(agent.created_at.timestamp()), "owned_by": agent.agent_uuid}


def _ids(asked: SubmittedRun) -> dict[str, str]:
    """Response headers with the ids of the run."""
    return {"X-Thread-UUID": asked.thread_uuid, "X-Run-UUID": asked.run_uuid}


def _head(kind: str, run_uuid: str, model: str, created: datetime) -> dict[str, Any]:
    return {"id": f"chatcmpl-{run_uuid}", "object": kind, "created": int(created.timestamp()), "model": model}


def _finish(found: str | None) -> str:
    """The finish_reason of a run."""
    return "length" if found == "length" else "content_filter" if found == "filtered" else "stop"


def _usage(run: Run) -> dict[str, int]:
    return {"prompt_tokens": run.prompt_tokens, "completion_tokens": run.completion_tokens, "total_tokens": run.total_tokens}


def _failed(run: Run) -> JSONResponse:
    """The error of a run without an answer."""
    waits = run.status is RunStatus.REQUIRES_ACTION
    code = run.error_code or f"run-{run.status}"
    message = "The run is waiting for approval of tool calls." if waits else run.error or f"The run is {run.status}."
    error = {"message": message, "type": "requires_action" if waits else "server_error", "param": None, "code": code}
    status = 409 if waits else _STATUSES.get(code, 502)
    # The run has been retried already, where that could help: the SDKs must not ask, and pay, again.
    headers = {"X-Should-Retry": "false", "X-Thread-UUID": run.thread_uuid, "X-Run-UUID": run.run_uuid}
    return JSONResponse({"error": error, "thread_uuid": run.thread_uuid, "run_uuid": run.run_uuid}, status, headers)


class _Chunks:
    """Converts frames of a run to chunks of a completion."""

    def __init__(self, model: str, run_uuid: str, *, created: datetime, usage: bool) -> None:
        self._head = _head("chat.completion.chunk", run_uuid, model, created)
        self._usage = usage
        #: the text of the current reply that was sent, and how much of it was repeated after a restart
        self._sent = ""
        self._again: int | None = None
        self._step = 0

    async def of(self, frames: AsyncIterator[Frame]) -> AsyncIterator[bytes]:
        """The chunks as server-sent events."""
        yield self._chunk({"role": "assistant", "content": ""})
        async for frame in frames:
            if frame.kind == "text" and (text := self._fresh(frame)):
                yield self._chunk({"content": text})
            elif frame.kind == "restart":
                self._again = 0 if self._sent else None
            elif frame.ends:
                for part in self._last(frame):
                    yield part
        yield b"data: [DONE]\n\n"

    def _fresh(self, frame: Frame) -> str:
        """The unsent text of a frame: a restarted reply is sent only from where the first attempt stopped."""
        text = frame.delta
        if frame.step != self._step:
            text = ("\n\n" if self._step and self._sent else "") + text
            self._step, self._sent, self._again = frame.step, "", None
        if self._again is not None:
            self._again, before = self._again + len(text), self._again
            text = text[max(0, len(self._sent) - before) :]
        self._sent += text
        return text

    def _last(self, frame: Frame) -> list[bytes]:
        data = frame.data or {}
        if frame.status != "completed":
            message, code = data.get("error") or f"The run is {frame.status}.", data.get("error_code") or f"run-{frame.status}"
            return [_event({"error": {"message": message, "type": "server_error", "param": None, "code": code}})]
        found = [self._chunk({}, _finish(data.get("finish")))]
        if self._usage:
            names = ("prompt_tokens", "completion_tokens", "total_tokens")
            found.append(_event({**self._head, "choices": [], "usage": {name: data.get(name, 0) for name in names}}))
        return found

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        return _event({**self._head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]})


def _event(body: dict[str, Any]) -> bytes:
    return b"data: " + orjson.dumps(body) + b"\n\n"
