"""The cache table: answers by a digest of the request; old entries expire by TTL."""

from datetime import datetime

from gateleg.model import TTL, Attr, Entity, Key, Table, field, stamp

cache_table = Table("GatelegModelCache", hash="digest")


class Remembered(Entity, table=cache_table):
    """One answer: a vector as little-endian float32, or a reply as compressed JSON."""

    #: SHA-256 of the model's address and all that was asked
    digest: Attr[str]
    model: Attr[str]
    content: Attr[bytes]
    created_at: Attr[datetime] = stamp(on="create")
    expires_at: Attr[TTL | None] = field(None)

    key = Key("{digest}")
