"""The cache of model answers in the store.

Reading may fail loudly, as nothing has been paid yet. What cannot be written is only logged, as it has been.
"""

from __future__ import annotations

import hashlib
import logging
import zlib
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import orjson
from pydantic import TypeAdapter

from gateleg.ai.messages import dump_messages
from gateleg.ai.replies import Reply
from gateleg.ai.steps import Carry
from gateleg.ai.tables import Remembered
from gateleg.store import StoreError, batch_get, batch_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from gateleg.ai.asking import Asked
    from gateleg.ai.steps import Flow

#: What an entry may hold. An item has at most 400 KB; whole books need not be kept.
LARGEST = 256 * 1024
_replies: TypeAdapter[Reply] = TypeAdapter(Reply)
_log = logging.getLogger(__name__)


def ask_digest(model: str, asked: Asked) -> str:
    """The digest of a call of a chat model: of all that the answer depends on."""
    rest = {
        "tools": [[tool.name, tool.description, tool.parameters] for tool in asked.tools],
        "choice": asked.tool_choice,
        "options": [asked.temperature, asked.max_tokens, asked.seed, list(asked.stop)],
        "shape": None if asked.shape is None else asked.shape.schema,
    }
    return _digest(b"chat", model.encode(), dump_messages(asked.messages), orjson.dumps(rest, option=orjson.OPT_SORT_KEYS))


def text_digest(model: str, variant: str, purpose: str, text: str) -> str:
    """The digest of a text that is to be embedded."""
    return _digest(b"embedding", model.encode(), variant.encode(), purpose.encode(), text.encode("utf-8", "surrogatepass"))


def _digest(*parts: bytes) -> str:
    """Each part with its length, so that no two lists of parts read the same."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.hexdigest()


def vector_entry(digest: str, model: str, vector: NDArray[np.float32], days: float | None) -> Remembered:
    """An entry for a vector."""
    return Remembered(digest=digest, model=model, content=vector.astype("<f4").tobytes(), expires_at=_end(days))


def vector_of(entry: Remembered) -> NDArray[np.float32]:
    """The vector of an entry."""
    return np.frombuffer(entry.content, dtype="<f4").astype(np.float32)


def reply_entry(digest: str, model: str, reply: Reply, days: float | None) -> Remembered | None:
    """An entry for a reply; None for one that is too large."""
    content = zlib.compress(_replies.dump_json(reply))
    return None if len(content) > LARGEST else Remembered(digest=digest, model=model, content=content, expires_at=_end(days))


def reply_of(entry: Remembered) -> Reply | None:
    """The reply of an entry; None if it cannot be read."""
    try:
        return _replies.validate_json(zlib.decompress(entry.content))
    except (ValueError, zlib.error):
        return None


def recall(digests: Sequence[str]) -> Flow[dict[str, Remembered]]:
    """The entries that there are. One that has expired counts as none, though it may still be there."""
    found: list[Remembered | None] = yield Carry(batch_get([Remembered.key(digest=digest) for digest in digests]))
    now = datetime.now(UTC)
    return {entry.digest: entry for entry in found if entry is not None and (entry.expires_at is None or entry.expires_at > now)}


def remember(entries: Iterable[Remembered | None]) -> Flow[None]:
    """Keep entries."""
    kept = [entry for entry in entries if entry is not None]
    if not kept:
        return
    try:
        yield Carry(batch_write(kept))
    except StoreError as error:
        _log.warning("An answer could not be kept in the cache: %s", error)


def _end(days: float | None) -> datetime | None:
    return None if days is None else datetime.now(UTC) + timedelta(days=days)
