"""A scripted model that replays given replies, for tests and demonstrations."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gateleg.ai.errors import AiError, ModelRefused
from gateleg.ai.providers.token_estimates import estimate
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage
from gateleg.ai.steps import EmitPiece, completed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.replies import ReplyBuilder, TokenCount
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow

#: A text, a whole reply, an error to raise, or a function that decides.
Line = str | Reply | AiError | Callable[["ChatRequest"], "str | Reply"]


class Script:
    """Returns its lines in order, one for each call. `requests` has the requests; a call after the last line raises an error.

    Use it with `models.chat_with(Script(["Hello", Reply(calls=...)]))`. A stream yields a line word by word.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.requests: list[ChatRequest] = []
        self._lines = list(lines)
        self._lock = threading.Lock()

    def reply(self, request: ChatRequest, deadline: CallDeadline) -> Flow[Reply]:
        """The next line."""
        yield from ()
        return self._next(request)

    def stream(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        """The next line, word by word."""
        reply = self._next(request)
        pieces = [Delta(text=word) for word in re.findall(r"\s*\S+|\s+$", reply.text)]
        pieces += [Delta(call=CallDelta(number, call.id, call.name, call.text, call.signature)) for number, call in enumerate(reply.calls)]
        for piece in pieces:
            builder.add(piece)
            yield EmitPiece(piece)
        return reply

    def count(self, text: str, deadline: CallDeadline) -> Flow[TokenCount]:
        """Estimate the tokens of a text."""
        return completed(estimate(text))

    def _next(self, request: ChatRequest) -> Reply:
        with self._lock:
            self.requests.append(request)
            if not self._lines:
                raise ModelRefused("The script has no line left.", fix="Add a line for every call.")
            line = self._lines.pop(0)
        if isinstance(line, AiError):
            raise line
        said = line(request) if callable(line) else line
        if isinstance(said, Reply):
            return said
        parse_tool_reply = sum(estimate(message.text).tokens for message in request.messages)
        return Reply(said, usage=Usage(parse_tool_reply, estimate(said).tokens), model="script")
