"""The cache of model answers in the store.

Errors on reading are raised, because the call has not been paid for yet. Errors on writing are only logged, because it has.
"""

from __future__ import annotations

import hashlib
import logging
import zlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import orjson
from pydantic import TypeAdapter

from gateleg.ai.messages import dump_messages
from gateleg.ai.replies import Reply
from gateleg.ai.steps import StoreOperation
from gateleg.ai.tables import CachedResult
from gateleg.store import StoreError
from gateleg.store.operations import batch_get, batch_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.steps import Flow

#: Larger replies are not cached. A DynamoDB item has at most 400 KB.
MAX_ENTRY_BYTES = 256 * 1024
_replies: TypeAdapter[Reply] = TypeAdapter(Reply)
_log = logging.getLogger(__name__)


def chat_digest(model: str, request: ChatRequest) -> str:
    """The cache key of a chat request: a digest of everything that the reply depends on."""
    rest = {
        "tools": [[tool.name, tool.description, tool.parameters] for tool in request.tools],
        "choice": request.tool_choice,
        "options": [request.temperature, request.max_tokens, request.seed, list(request.stop)],
        "shape": None if request.shape is None else request.shape.schema,
    }
    return _digest(b"chat", model.encode(), dump_messages(request.messages), orjson.dumps(rest, option=orjson.OPT_SORT_KEYS))


def text_digest(model: str, variant: str, purpose: str, text: str) -> str:
    """The cache key of a text to embed."""
    return _digest(b"embedding", model.encode(), variant.encode(), purpose.encode(), text.encode("utf-8", "surrogatepass"))


def _digest(*parts: bytes) -> str:
    """SHA-256 of the parts, each prefixed with its length, so that different lists have different digests."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def vector_entry(digest: str, model: str, vector: NDArray[np.float32], days: float | None) -> CachedResult:
    """The cache entry of a vector."""
    return CachedResult(digest=digest, model=model, content=vector.astype("<f4").tobytes(), expires_at=_expiry(days))


def vector_of(entry: CachedResult) -> NDArray[np.float32]:
    """The vector of an entry."""
    # Imported here, because chat does without it.
    import numpy as np

    return np.frombuffer(entry.content, dtype="<f4").astype(np.float32)


def reply_entry(digest: str, model: str, reply: Reply, days: float | None) -> CachedResult | None:
    """The cache entry of a reply; None if it is too large."""
    content = zlib.compress(_replies.dump_json(reply))
    return None if len(content) > MAX_ENTRY_BYTES else CachedResult(digest=digest, model=model, content=content, expires_at=_expiry(days))


def reply_of(entry: CachedResult) -> Reply | None:
    """The reply of an entry; None if it cannot be read."""
    try:
        return _replies.validate_json(zlib.decompress(entry.content))
    except (ValueError, zlib.error):
        return None


def read_entries(digests: Sequence[str]) -> Flow[dict[str, CachedResult]]:
    """The entries of the digests that are cached and have not expired."""
    entries: list[CachedResult | None] = yield StoreOperation(batch_get([CachedResult.key(digest=digest) for digest in digests]))
    now = datetime.now(UTC)
    return {entry.digest: entry for entry in entries if entry is not None and (entry.expires_at is None or entry.expires_at > now)}


def write_entries(entries: Iterable[CachedResult | None]) -> Flow[None]:
    """Write entries to the cache; None stands for one that is too large."""
    small_enough = [entry for entry in entries if entry is not None]
    if not small_enough:
        return
    try:
        yield StoreOperation(batch_write(small_enough))
    except StoreError as error:
        _log.warning("could not write a model reply to the cache: %s", error)


def _expiry(days: float | None) -> datetime | None:
    return None if days is None else datetime.now(UTC) + timedelta(days=days)
