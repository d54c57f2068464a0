"""The cache: what models have answered, by a digest of what they were asked. One table; old entries go by themselves."""

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
