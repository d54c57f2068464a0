"""Content encodings: compression and decompression of bodies."""

import zlib

#: Shorter responses are not compressed.
MIN_COMPRESSED_BYTES = 4096

#: zlib's window argument for each encoding; adding 16 selects the gzip format.
_WINDOW = {b"gzip": 31, b"deflate": 15}

#: The maximum number of members in a gzip body. Each takes time, so a million empty ones would be an attack.
MAX_GZIP_MEMBERS = 1024
#: The number of bytes to decompress at once. The rest of a piece after the end of a member is copied, so pieces must be short.
_CHUNK_BYTES = 16 * 1024

#: Level 1 takes a third of the time of level 6, for a few percent more bytes.
_LEVEL = 1


class UndecodableBody(Exception):
    """The body does not match its `Content-Encoding`, or the encoding is unknown."""


class OversizedBody(Exception):
    """The decompressed body exceeds the limit."""


def decompress(body: bytes, encoding: bytes, limit: int) -> bytes:
    """Decompress a body. Raises `UndecodableBody`, or `OversizedBody` beyond `limit` bytes, without decompressing much more."""
    encoding = encoding.strip().lower()
    if encoding in (b"", b"identity"):
        return body
    window = _WINDOW.get(encoding)
    if window is None:
        raise UndecodableBody(f"{encoding.decode('latin-1')!r} is not gzip, deflate or identity")
    plain = bytearray()
    stream, members = zlib.decompressobj(window), 1
    for start in range(0, len(body), _CHUNK_BYTES):
        piece = body[start : start + _CHUNK_BYTES]
        while piece:
            if stream.eof:
                if encoding == b"deflate" or members == MAX_GZIP_MEMBERS:
                    raise UndecodableBody("the body has data after its end")
                stream, members = zlib.decompressobj(window), members + 1
            try:
                plain += stream.decompress(piece, limit + 1 - len(plain))
            except zlib.error as error:
                raise UndecodableBody(str(error)) from error
            if len(plain) > limit:
                raise OversizedBody
            piece = stream.unused_data
    if not stream.eof:
        raise UndecodableBody("the compressed body is truncated")
    return bytes(plain)


def compress(body: bytes, encoding: bytes) -> bytes:
    """Compress a body with `gzip` or `deflate`."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW[encoding])
    return packer.compress(body) + packer.flush()


def _quality(parameters: str) -> float:
    """The weight in an encoding's parameters, parsed as leniently as DynamoDB does: the first `q=` anywhere, 1 if it is not a number."""
    _, found, rest = parameters.partition("q=")
    if not found:
        return 1.0
    text = rest.partition(";")[0].strip()
    digits = text.removeprefix("-").replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()):
        return 1.0
    return min(float(text), 1.0)


def choose_encoding(accepted: bytes) -> bytes | None:
    """The encoding of the response: the highest weight in `Accept-Encoding`; among equals, names before `*`, then the first one."""
    named: dict[str, float] = {}
    others = 0.0
    for part in accepted.decode("latin-1").lower().split(","):
        name, _, parameters = part.strip().partition(";")
        name = name.strip()
        quality = _quality(parameters)
        if name == "*":
            others = quality
        elif name in ("gzip", "deflate"):
            named[name] = max(quality, named.get(name, 0.0))
    candidates = [*named.items(), *((name, others) for name in ("gzip", "deflate") if name not in named)]
    best, quality = max(candidates, key=lambda candidate: candidate[1])
    return best.encode() if quality > 0 else None
