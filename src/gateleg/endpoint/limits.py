"""Limits of a client: bytes and seconds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on every connection."""

    #: bytes of a body, also after it is decompressed
    body: int = 16 * 1024 * 1024
    #: bytes of the request line and headers
    head: int = 16 * 1024
    #: seconds between requests
    idle: float = 120.0
    #: seconds for the head of a request to arrive
    head_time: float = 30.0
    #: seconds for the body to arrive
    body_time: float = 300.0
    #: seconds that a client may leave an answer unread
    send: float = 60.0
    #: seconds that a refused client is listened to, so that it gets to read why
    linger: float = 10.0
    #: seconds that requests under way are given when the server stops
    drain: float = 30.0
