"""Limits for clients, in bytes and seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of each connection, in bytes and seconds."""

    #: bytes of a body, before and after decompression
    body: int = 16 * 1024 * 1024
    #: bytes of the request line and headers
    head: int = 16 * 1024
    #: seconds between requests
    idle: float = 120.0
    #: seconds for the head of a request to arrive
    head_time: float = 30.0
    #: seconds for the body of a request to arrive
    body_time: float = 300.0
    #: seconds that a client may leave a response unread
    send: float = 60.0
    #: seconds to keep a refused connection open, so that the client can read the reason
    linger: float = 10.0
    #: seconds for requests in progress to finish when the server stops
    drain: float = 30.0
