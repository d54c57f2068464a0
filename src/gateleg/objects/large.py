"""`Large`: a value that is kept in its item while it is short, and as an object when it is long.

An item has at most 400 KB, and every read of it is paid for by its size. What may grow beyond that (a transcript, a prompt, a result as
JSON) is declared as `Attr[Large]`. Short content stays where it is, so that most items need one read. Long content becomes an object under
its digest: it is written before the item that refers to it, the same content is never stored twice, and an object is never changed, so
that whoever has read an item finds what it had. Objects that no item refers to any more are found by `collect_orphans`, as all others are.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from gateleg.model import Attr, Record, S3Key, field, required
from gateleg.objects.errors import Damaged

if TYPE_CHECKING:
    from gateleg.objects.protocol import AsyncObjects, Objects

#: Up to so many bytes stay in the item: two of DynamoDB's units for reading.
INLINE = 8 * 1024


class Large(Record):
    """Where some content is: here (`inline`), or in the object with the key. Made by `keep`, read by `load`."""

    size: Attr[int] = required(ge=0)
    #: of the content, in hexadecimal
    sha256: Attr[str] = required(min_length=64, max_length=64)
    inline: Attr[bytes | None] = field(None)
    key: Attr[S3Key | None] = field(None)

    @classmethod
    def of(cls, content: bytes | str, *, prefix: str, inline: int = INLINE) -> Large:
        """Decide where content is to be; an object of its own has a key below `prefix`. Nothing is stored yet."""
        data = content.encode() if isinstance(content, str) else content
        digest = hashlib.sha256(data).hexdigest()
        if len(data) <= inline:
            return cls(size=len(data), sha256=digest, inline=data)
        return cls(size=len(data), sha256=digest, key=f"{prefix.rstrip('/')}/{digest}")

    def checked(self, content: bytes) -> bytes:
        """The content, if it is the one that was kept."""
        if len(content) != self.size or hashlib.sha256(content).hexdigest() != self.sha256:
            raise Damaged(f"The content of {self.key or 'an item'} does not match its digest.")
        return content


def keep(objects: Objects, content: bytes | str, *, prefix: str, inline: int = INLINE) -> Large:
    """Store content if it is long, and say where it is: `store.put(Note(body=keep(objects, text, prefix="notes")))`.

    The object is durable when this returns; write the item afterwards, so that no item refers to what is not there.
    """
    large = Large.of(content, prefix=prefix, inline=inline)
    if large.key is not None:
        objects.put(large.key, content.encode() if isinstance(content, str) else content, sha256=large.sha256)
    return large


async def keep_async(objects: AsyncObjects, content: bytes | str, *, prefix: str, inline: int = INLINE) -> Large:
    """`keep`, awaited."""
    large = Large.of(content, prefix=prefix, inline=inline)
    if large.key is not None:
        await objects.put(large.key, content.encode() if isinstance(content, str) else content, sha256=large.sha256)
    return large


def load(objects: Objects, large: Large) -> bytes:
    """The content, from wherever it is; `Damaged` when it is not what was kept, `ObjectMissing` when its object is gone."""
    if large.key is None:
        return large.checked(large.inline or b"")
    return large.checked(objects.get(large.key))


async def load_async(objects: AsyncObjects, large: Large) -> bytes:
    """`load`, awaited."""
    if large.key is None:
        return large.checked(large.inline or b"")
    return large.checked(await objects.get(large.key))
