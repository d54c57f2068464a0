"""A scripted model: it replays given answers, for tests and demonstrations."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gateleg.ai.errors import AiError, ModelRefused
from gateleg.ai.providers.counting import estimate
from gateleg.ai.replies import CallDelta, Delta, Reply, Usage
from gateleg.ai.steps import Say, at_once

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.ai.asking import ChatRequest
    from gateleg.ai.replies import Gathering, TokenCount
    from gateleg.ai.retry_policy import Deadline
    from gateleg.ai.steps import Flow

#: What is said, a whole reply, something that goes wrong, or what decides when it is asked.
Line = str | Reply | AiError | Callable[["ChatRequest"], "str | Reply"]


class Script:
    """Says its lines in order, one for each call. `asked` has what it was asked; a call after the last line is refused.

    Use it with `models.chat_with(Script(["Hello", Reply(calls=...)]))`. A stream says a line word by word.
    """

    def __init__(self, lines: Iterable[Line]) -> None:
        self.asked: list[ChatRequest] = []
        self._lines = list(lines)
        self._lock = threading.Lock()

    def reply(self, request: ChatRequest, deadline: Deadline) -> Flow[Reply]:
        """The next line."""
        yield from ()
        return self._next(request)

    def stream(self, request: ChatRequest, deadline: Deadline, gathering: Gathering) -> Flow[Reply]:
        """The next line, word by word."""
        reply = self._next(request)
        pieces = [Delta(text=word) for word in re.findall(r"\s*\S+|\s+$", reply.text)]
        pieces += [Delta(call=CallDelta(number, call.id, call.name, call.text, call.signature)) for number, call in enumerate(reply.calls)]
        for piece in pieces:
            gathering.add(piece)
            yield Say(piece)
        return reply

    def count(self, text: str, deadline: Deadline) -> Flow[TokenCount]:
        """How long a text is: an estimate."""
        return at_once(estimate(text))

    def _next(self, request: ChatRequest) -> Reply:
        with self._lock:
            self.asked.append(request)
            if not self._lines:
                raise ModelRefused("The script is over.", fix="Give it a line for every call.")
            line = self._lines.pop(0)
        if isinstance(line, AiError):
            raise line
        said = line(request) if callable(line) else line
        if isinstance(said, Reply):
            return said
        heard = sum(estimate(message.text).tokens for message in request.messages)
        return Reply(said, usage=Usage(heard, estimate(said).tokens), model="script")
