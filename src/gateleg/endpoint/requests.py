"""HTTP requests."""

from dataclasses import dataclass, field

__all__ = ["IncomingRequest"]


@dataclass(slots=True)
class IncomingRequest:
    """An HTTP request. Header names are in lower case; the values of a repeated header are joined by commas."""

    method: bytes = b""
    #: the request target: path and query
    target: bytes = b""
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""
    keep_alive: bool = True
    #: the first of several Accept-Encoding lines, the only one that DynamoDB considers (while a signature covers all)
    accepts: bytes | None = None

    @property
    def path(self) -> bytes:
        """The target without its query."""
        return self.target.partition(b"?")[0]

    @property
    def query(self) -> bytes:
        """The part of the target after the question mark."""
        return self.target.partition(b"?")[2]
