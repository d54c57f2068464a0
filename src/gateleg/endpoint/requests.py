"""A request as it came over a connection."""

from dataclasses import dataclass, field

__all__ = ["Request"]


@dataclass(slots=True)
class Request:
    """One HTTP request: header names in lower case, the values of a repeated header joined by commas."""

    method: bytes = b""
    #: the request target: path and query
    target: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    keep_alive: bool = True
    #: the first Accept-Encoding line, where there are several: DynamoDB goes by that one alone, while a signature covers all
    accepts: bytes | None = None

    @property
    def path(self) -> bytes:
        """The target without its query."""
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        """What follows the question mark in the target."""
        return self.target.partition(b"?")[2]
