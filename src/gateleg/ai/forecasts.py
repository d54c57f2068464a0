"""What a call is going to use, estimated before it is made. Careful rather than exact: spend caps go by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import orjson

from gateleg.ai.messages import Assistant
from gateleg.ai.providers.attachments import estimated_tokens
from gateleg.ai.providers.counting import estimate
from gateleg.ai.replies import Usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai.asking import Asked

#: Tokens around each message: roles and separators.
_AROUND = 8


def forecast_ask(asked: Asked, output_tokens: int) -> Usage:
    """What a chat model reads, and the most that it may write; `output_tokens` where the ask does not say."""
    texts = [message.text for message in asked.messages]
    texts += [call.name + call.text for message in asked.messages if isinstance(message, Assistant) for call in message.calls]
    texts += [tool.name + tool.description + orjson.dumps(tool.parameters).decode() for tool in asked.tools]
    if asked.shape is not None:
        texts.append(orjson.dumps(asked.shape.schema).decode())
    read = sum(estimate(text).tokens + _AROUND for text in texts) + sum(map(estimated_tokens, asked.files))
    return Usage(input=read, output=asked.max_tokens or output_tokens, requests=1)


def forecast_texts(texts: Sequence[str]) -> Usage:
    """What an embedding model reads."""
    return Usage(input=sum(estimate(text).tokens for text in texts), requests=1)
