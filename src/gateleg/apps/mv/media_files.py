"""Open uploaded audio and video files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import av

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def open_media(path: Path) -> Any:
    """Open a file for decoding. Metadata may be in any encoding, and errors in it are ignored."""
    return av.open(str(path), metadata_errors="replace")


def decode_pictures(container: Any) -> Iterator[av.VideoFrame]:
    """The video frames of a file, without damaged frames. A truncated file yields the frames that it has."""
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
