"""Estimates of a call's usage before it is made. They are upper bounds rather than exact, because spend caps rely on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from gateleg.ai.messages import Assistant
from gateleg.ai.providers.attachments import estimated_tokens
from gateleg.ai.providers.token_estimates import estimate
from gateleg.ai.replies import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai.chat_requests import ChatRequest

#: Tokens around each message: roles and separators.
_TOKENS_AROUND_MESSAGE = 8


def forecast_chat(request: ChatRequest, output_tokens: int) -> Usage:
    """The input tokens of a request and its maximum output; `output_tokens` if the request sets no maximum."""
    texts = [message.text for message in request.messages]
    texts += [call.name + call.text for message in request.messages if isinstance(message, Assistant) for call in message.calls]
    texts += [tool.name + tool.description + orjson.dumps(tool.parameters).decode() for tool in request.tools]
    if request.shape is not None:
        texts.append(orjson.dumps(request.shape.schema).decode())
    read = sum(estimate(text).tokens + _TOKENS_AROUND_MESSAGE for text in texts) + sum(map(estimated_tokens, request.files))
    return Usage(input=read, output=request.max_tokens or output_tokens, requests=1)


def forecast_texts(texts: Sequence[str]) -> Usage:
    """The input tokens of texts to embed."""
    return Usage(input=sum(estimate(text).tokens for text in texts), requests=1)
