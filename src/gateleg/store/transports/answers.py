"""Answers: from bytes to a value, and from a value to a result or an error. No I/O here: what was received is fed in."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import httptools
import orjson

from gateleg.store.transports import FOREIGN, ServiceError

#: No answer of DynamoDB is near this size: an item has at most 400 KB, a page 1 MB, a batch 16 MB.
LIMIT = 64 * 1024 * 1024

_CODES = {413: "RequestEntityTooLarge", 500: "InternalServerError", 503: "ServiceUnavailable"}


class Unreadable(Exception):
    """What came is not an answer, or not a whole one."""


class Answer(NamedTuple):
    """A status, the headers that matter by their names in small letters, and the body as it was sent."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    #: whether the connection may carry another request
    keep_alive: bool


class AnswerReader:
    """Reads the answers that come over one connection, one after the other."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._start()

    def feed(self, data: bytes) -> Answer | None:
        """Take in what was received; the answer once it is whole."""
        self._size += len(data)
        if self._size > LIMIT:
            raise Unreadable(f"The answer is larger than {LIMIT:,} bytes.")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise Unreadable(f"The answer is not HTTP: {error}.") from None
        return self._take() if self._done else None

    def end(self) -> Answer:
        """The connection is at its end: the answer, if it is one that goes on until then."""
        if self._headers_done and b"content-length" not in self._headers and b"transfer-encoding" not in self._headers:
            self._done = True
            return self._take()
        raise Unreadable("The connection was closed in the middle of the answer." if self._size else "The connection was closed.")

    @property
    def begun(self) -> bool:
        """Whether a part of an answer has come."""
        return self._size > 0

    def _start(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._parts: list[bytes] = []
        self._size = 0
        self._headers_done = False
        self._keep_alive = False
        self._done = False

    def _take(self) -> Answer:
        parts = self._parts
        body = parts[0] if len(parts) == 1 else b"".join(parts)
        answer = Answer(self._parser.get_status_code(), self._headers, body, self._keep_alive)
        self._start()
        return answer

    def on_message_begin(self) -> None:
        """Called by the parser. One answer is expected at a time."""
        if self._done:
            raise Unreadable("There is more than one answer.")

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        self._headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Called by the parser, which forgets at the end of an answer whether another may follow."""
        self._headers_done = True
        self._keep_alive = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._parts.append(body)

    def on_message_complete(self) -> None:
        """Called by the parser. An interim answer (1xx) is followed by the real one."""
        if self._parser.get_status_code() < 200:
            self._headers.clear()
            self._headers_done = False
        else:
            self._done = True


def content(answer: Answer) -> bytes:
    """The body as it was before compression, once its checksum is found right."""
    body = answer.body
    checksum = answer.headers.get(b"x-amz-crc32")
    if checksum is not None and checksum != b"%d" % zlib.crc32(body):
        raise Unreadable("The answer's checksum is wrong.")
    if b"content-encoding" not in answer.headers:
        return body
    encoding = answer.headers[b"content-encoding"]
    if encoding == b"identity":
        return body
    if encoding != b"gzip":
        raise Unreadable(f"The answer is encoded with {encoding.decode('latin-1')}, which was not asked for.")
    inflater = zlib.decompressobj(wbits=31)
    try:
        body = inflater.decompress(body, LIMIT)
    except zlib.error as error:
        raise Unreadable(f"The answer cannot be decompressed: {error}.") from None
    if not inflater.eof:
        raise Unreadable("The answer cannot be decompressed: it is cut short or too large.")
    return body


def result(answer: Answer) -> dict[str, Any]:
    """What the service answered to a request that it accepted. Raises `ServiceError` for one that it refused."""
    body = content(answer)
    if answer.status != 200:
        raise error_of(answer.status, body, answer.headers.get(b"x-amzn-errortype", b"").decode("latin-1"))
    try:
        members = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError:
        members = None
    if not isinstance(members, dict):
        raise Unreadable("The answer is not one of DynamoDB's: is something else listening there?")
    return members


def error_of(status: int, body: bytes, kind: str = "") -> ServiceError:
    """The error that an answer carries; one made from its status where a proxy or a load balancer has answered instead of the service."""
    try:
        members = orjson.loads(body)
    except orjson.JSONDecodeError:
        members = None
    if not isinstance(members, dict):
        members = {}
    name = members.pop("__type", None) or kind
    code = str(name).rpartition("#")[2].partition(":")[0] or _CODES.get(status, f"{FOREIGN}{status}")
    message = members.pop("message", None)
    message = members.pop("Message", None) or message
    if not name and (not message or code.startswith(FOREIGN)):
        message = f"The answer has the status {status} and is not one of DynamoDB's."
    return ServiceError(code, message, members, status)
