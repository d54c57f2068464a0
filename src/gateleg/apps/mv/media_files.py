"""Opening the sound and video files of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import av

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def open_media(path: Path) -> Any:
    """A file to decode. Its titles may be in any encoding, and are not what is wanted of it."""
    return av.open(str(path), metadata_errors="replace")


def decode_pictures(container: Any) -> Iterator[av.VideoFrame]:
    """The pictures of a file; damaged ones are left out, and a file that ends early gives what is in it."""
    packets = container.demux(container.streams.video[0])
    while True:
        try:
            packet = next(packets, None)
        except av.InvalidDataError:
            return
        if packet is None:
            return
        try:
            yield from packet.decode()
        except av.InvalidDataError:
            continue
