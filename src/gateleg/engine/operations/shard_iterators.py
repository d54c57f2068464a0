"""Shard iterators: a position in a shard, encoded in an opaque string so that the engine stores nothing per iterator."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from struct import Struct, error

from gateleg.engine.errors import validation

#: Lifetime of an iterator.
VALID_SECONDS = 15 * 60

_POSITION = Struct(">IQd")


@dataclass(frozen=True, slots=True)
class ShardIterator:
    """A position in a stream: the shard's ordinal, the sequence number to continue from (0 for the oldest), and the creation time."""

    arn: str
    shard: int
    seq: int
    created_at: float

    def encode(self) -> str:
        """The string that `GetShardIterator` returns."""
        position = urlsafe_b64encode(_POSITION.pack(self.shard, self.seq, self.created_at)).decode()
        return f"{self.arn}|1|{position}"


def decode(text: str) -> ShardIterator:
    """Parse a string that `ShardIterator.encode` produced."""
    try:
        arn, version, position = text.split("|")
        shard, seq, created_at = _POSITION.unpack(urlsafe_b64decode(position))
    except (ValueError, error):
        raise validation("Invalid ShardIterator") from None
    if version != "1" or seq >= 2**63:
        raise validation("Invalid ShardIterator")
    return ShardIterator(arn, shard, seq, created_at)
