"""`Large`: a value that is stored in its item if it is short, and as an object if it is long.

An item can have at most 400 KB, and every read is billed by its size. Declare values that may become large (a transcript, a prompt, a JSON
result) as `Attr[Large]`. Short content stays in the item, so most items need only one read. Long content becomes an object whose key is its
digest: it is written before the item, equal content is stored once, and it never changes, so a reader of an old version of an item still
finds its content. `collect_orphans` deletes objects that no item references any more.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from gateleg.model import Attr, Record, S3Key, field, required
from gateleg.objects.errors import Damaged

if TYPE_CHECKING:
    from gateleg.objects.awaited import AsyncObjects
    from gateleg.objects.protocol import Objects

#: Content of up to this size stays in the item: two read units of DynamoDB.
INLINE_BYTES = 8 * 1024


class Large(Record, defer_build=True):
    """A reference to content, which is in the item (`inline`) or in the object with the `key`. `keep` creates it, `load` reads it."""

    size: Attr[int] = required(ge=0)
    #: the digest of the content in hexadecimal
    sha256: Attr[str] = required(min_length=64, max_length=64)
    inline: Attr[bytes | None] = field(None)
    key: Attr[S3Key | None] = field(None)

    @classmethod
    def of(cls, content: bytes | str, *, prefix: str, inline: int = INLINE_BYTES) -> Large:
        """The reference for content, without storing it. Content of more than `inline` bytes belongs in an object below `prefix`."""
        data = content.encode() if isinstance(content, str) else content
        digest = hashlib.sha256(data).hexdigest()
        if len(data) <= inline:
            return cls(size=len(data), sha256=digest, inline=data)
        return cls(size=len(data), sha256=digest, key=f"{prefix.rstrip('/')}/{digest}")

    def verify(self, content: bytes) -> bytes:
        """Return the content, or raise `Damaged` if it does not match the size and digest."""
        if len(content) != self.size or hashlib.sha256(content).hexdigest() != self.sha256:
            raise Damaged(f"The content of {self.key or 'an item'} does not match its digest.")
        return content


def keep(objects: Objects, content: bytes | str, *, prefix: str, inline: int = INLINE_BYTES) -> Large:
    """Store content as an object if it is long, and return the reference: `store.put(Note(body=keep(objects, text, prefix="notes")))`.

    The object is durable when this returns. Write the item afterwards, so that no item refers to a missing object.
    """
    large = Large.of(content, prefix=prefix, inline=inline)
    if large.key is not None:
        objects.put(large.key, content.encode() if isinstance(content, str) else content, sha256=large.sha256)
    return large


async def keep_async(objects: AsyncObjects, content: bytes | str, *, prefix: str, inline: int = INLINE_BYTES) -> Large:
    """As `keep`, awaited."""
    large = Large.of(content, prefix=prefix, inline=inline)
    if large.key is not None:
        await objects.put(large.key, content.encode() if isinstance(content, str) else content, sha256=large.sha256)
    return large


def load(objects: Objects, large: Large) -> bytes:
    """Read the content. Raises `Damaged` if it does not match its digest, and `ObjectMissing` if its object does not exist."""
    if large.key is None:
        return large.verify(large.inline or b"")
    return large.verify(objects.get(large.key))


async def load_async(objects: AsyncObjects, large: Large) -> bytes:
    """As `load`, awaited."""
    if large.key is None:
        return large.verify(large.inline or b"")
    return large.verify(await objects.get(large.key))
