"""Shard iterators: a place in a shard as an opaque text that needs nothing kept on this side."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from struct import Struct, error

from gateleg.engine.errors import validation

#: Seconds for which an iterator can be used.
VALID_SECONDS = 15 * 60

_PLACE = Struct(">IQd")


@dataclass(frozen=True, slots=True)
class Iterator:
    """A place in a stream: the shard's position, the number of the log to go on from (zero: the oldest there is), and when it was made."""

    arn: str
    shard: int
    seq: int
    made: float

    def encode(self) -> str:
        """The text that callers hold."""
        place = urlsafe_b64encode(_PLACE.pack(self.shard, self.seq, self.made)).decode()
        return f"{self.arn}|1|{place}"


def decode(text: str) -> Iterator:
    """An iterator from the text that `encode` made."""
    try:
        arn, version, place = text.split("|")
        shard, seq, made = _PLACE.unpack(urlsafe_b64decode(place))
    except (ValueError, error):
        raise validation("Invalid ShardIterator") from None
    if version != "1" or seq >= 2**63:
        raise validation("Invalid ShardIterator")
    return Iterator(arn, shard, seq, made)
