"""A picture and a sound to show."""

import io
import math
import struct
import wave
import zlib


def png(width: int = 64, height: int = 40) -> bytes:
    """A picture with a gradient."""
    rows = b"".join(
        b"\x00" + bytes(part for x in range(width) for part in (x * 255 // width, y * 255 // height, 160)) for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def wav() -> bytes:
    """A second of a tone."""
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"".join(struct.pack("<h", int(8000 * math.sin(at / 5))) for at in range(8000)))
    return out.getvalue()
