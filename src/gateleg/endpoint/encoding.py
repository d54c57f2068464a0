"""Compressed bodies, both ways."""

import zlib

#: Answers shorter than this are never compressed.
COMPRESS_FROM = 4096

#: zlib's window argument of each encoding; 16 more than the window's size means the gzip format.
_WINDOW = {b"gzip": 31, b"deflate": 15}

#: Members that one gzip body may have. Each takes its time, and nobody sends a million of empty ones with good intent.
MEMBERS = 1024
#: Bytes that are decompressed at once. What lies behind the end of a member is copied, so that it must not be all the rest of the body.
_PIECE = 16 * 1024

#: Level 1 takes a third of the time of level 6 for a few percent more bytes.
_LEVEL = 1


class UndecodableBody(Exception):
    """The body is not what its `Content-Encoding` says, or the encoding is not known."""


class OversizedBody(Exception):
    """The body is larger than the limit once it is decompressed."""


def decompress(body: bytes, encoding: bytes, limit: int) -> bytes:
    """The body without its encoding. Never makes more than `limit` bytes and one of it, however small the compressed body is."""
    encoding = encoding.strip().lower()
    if encoding in (b"", b"identity"):
        return body
    window = _WINDOW.get(encoding)
    if window is None:
        raise UndecodableBody(f"{encoding.decode('latin-1')!r} is not gzip, deflate or identity")
    plain = bytearray()
    stream, members = zlib.decompressobj(window), 1
    for start in range(0, len(body), _PIECE):
        piece = body[start : start + _PIECE]
        while piece:
            if stream.eof:
                if encoding == b"deflate" or members == MEMBERS:
                    raise UndecodableBody("the body has more behind its end")
                stream, members = zlib.decompressobj(window), members + 1
            try:
                plain += stream.decompress(piece, limit + 1 - len(plain))
            except zlib.error as error:
                raise UndecodableBody(str(error)) from error
            if len(plain) > limit:
                raise OversizedBody
            piece = stream.unused_data
    if not stream.eof:
        raise UndecodableBody("the compressed body is cut short")
    return bytes(plain)


def compress(body: bytes, encoding: bytes) -> bytes:
    """The body in that encoding, `gzip` or `deflate`."""
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW[encoding])
    return packer.compress(body) + packer.flush()


def _quality(parameters: str) -> float:
    """The weight among an encoding's parameters, read as leniently as DynamoDB does: the first `q=` anywhere, 1 if it is not a number."""
    _, found, rest = parameters.partition("q=")
    if not found:
        return 1.0
    text = rest.partition(";")[0].strip()
    digits = text.removeprefix("-").replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit()):
        return 1.0
    return min(float(text), 1.0)


def choose_encoding(accepted: bytes) -> bytes | None:
    """The encoding to answer in, from an `Accept-Encoding` header: the heaviest, named before implied by `*`, then the first named."""
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
