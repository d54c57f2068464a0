"""Answers from bytes, piece by piece. No I/O here: what was received is fed in."""

from __future__ import annotations

import httptools

from gateleg.ai.errors import BadAnswer, ModelUnreachable

#: No answer of a model is near this size: a batch of 2,048 vectors of 3,072 numbers is 130 MB at worst.
LIMIT = 256 * 1024 * 1024


class AnswerPieces:
    """Reads one answer as it comes."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._pieces: list[bytes] = []
        self._size = 0
        self.status = 0
        self.headers: dict[str, str] = {}
        #: the head has been read
        self.opened = False
        #: the answer is whole
        self.done = False
        self.keep_alive = False

    @property
    def begun(self) -> bool:
        """Whether a part of the answer has come."""
        return self._size > 0

    def feed(self, data: bytes) -> None:
        """Take in what was received."""
        self._size += len(data)
        if self._size > LIMIT:
            raise BadAnswer(f"The answer is larger than {LIMIT:,} bytes.")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise BadAnswer(f"The answer is not HTTP: {error}.") from None

    def end(self) -> None:
        """The connection is at its end, which is also the answer's if it has no length."""
        if self.done:
            return
        if self.opened and not {"content-length", "transfer-encoding"} & self.headers.keys():
            self.done = True
            return
        raise ModelUnreachable("The connection was closed in the middle of the answer." if self.begun else "The connection was closed.")

    def take(self) -> bytes:
        """What has come of the body since the last call."""
        pieces, self._pieces = self._pieces, []
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Called by the parser."""
        self.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Called by the parser."""
        self.status = self._parser.get_status_code()
        self.opened = self.status >= 200
        self.keep_alive = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        """Called by the parser."""
        self._pieces.append(body)

    def on_message_complete(self) -> None:
        """Called by the parser. An interim answer (1xx) is followed by the real one."""
        if self.opened:
            self.done = True
        else:
            self.headers.clear()
