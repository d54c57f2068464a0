"""H.264 encoding. All clips of a video have the same settings, so that they can be joined without re-encoding."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import av

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np
    import numpy.typing as npt

#: the time base of all video: divisible by the usual frame rates
TICKS = 12_288


@dataclass(frozen=True, slots=True)
class Canvas:
    """The size and frame rate of a video. Sides are even, as H.264 requires."""

    width: int
    height: int
    fps: int = 24
    #: the CRF of libx264: lower is better and larger
    crf: int = 20
    #: the preset of libx264
    effort: str = "veryfast"

    def __post_init__(self) -> None:
        if self.width % 2 or self.height % 2 or not (16 <= self.width <= 4096 and 16 <= self.height <= 4096):
            raise ValueError(f"A canvas of {self.width}x{self.height} is not possible: sides must be even numbers from 16 to 4096.")
        if not 1 <= self.fps <= 120 or TICKS * 1000 % self.fps:
            raise ValueError(f"A frame rate of {self.fps} is not supported: choose 24, 25, 30, 48, 50 or 60.")


HD = Canvas(1280, 720)
DRAFT = Canvas(854, 480, crf=23, effort="superfast")


def add_video(container: Any, canvas: Canvas) -> Any:
    """Add a video stream with the settings of a canvas: no B-frames, a keyframe at least every two seconds, BT.709 colours."""
    stream = container.add_stream("libx264", rate=canvas.fps)
    stream.width, stream.height, stream.pix_fmt = canvas.width, canvas.height, "yuv420p"
    stream.time_base = Fraction(1, TICKS)
    context = stream.codec_context
    context.time_base = Fraction(1, canvas.fps)
    context.gop_size = 2 * canvas.fps
    context.max_b_frames = 0
    context.color_primaries = context.color_trc = context.colorspace = 1
    context.color_range = 1
    # Use one thread per clip: clips are encoded in parallel, and the bytes are the same on every machine.
    stream.options = {"preset": canvas.effort, "crf": str(canvas.crf), "threads": "1"} | _instructions()
    return stream


@cache
def _instructions() -> dict[str, str]:
    """Keep libx264 from using AVX-512.

    With AVX-512, its macroblock tree reads uninitialised memory, so that equal frames sometimes became different bytes (seen with
    frames of 32x18 and 64x36, never with AVX2). If the processor's flags cannot be read, nothing is changed, because libx264 uses
    requested instructions even if they do not exist.
    """
    try:
        flags = Path("/proc/cpuinfo").read_text("utf-8", "replace").split()
    except OSError:
        return {}
    return {"x264-params": "asm=AVX2"} if "avx512f" in flags and "avx2" in flags else {}


class ClipWriter:
    """Writes frames to an MP4 file without sound."""

    def __init__(self, path: Path, canvas: Canvas) -> None:
        self.canvas, self.count = canvas, 0
        self.container = av.open(str(path), "w", format="mp4")
        self.stream = add_video(self.container, canvas)

    def write(self, pixels: npt.NDArray[np.uint8]) -> None:
        """Add a frame of BGRA pixels."""
        frame = av.VideoFrame.from_ndarray(pixels, format="bgra")
        self.write_frame(frame)

    def write_frame(self, frame: av.VideoFrame) -> None:
        """Add a frame of any format, scaled to the canvas."""
        # Use one thread: starting several for each frame takes longer, and their number would depend on the machine.
        shaped = frame.reformat(self.canvas.width, self.canvas.height, "yuv420p", dst_colorspace="ITU709", threads=1)
        shaped.pts, shaped.time_base = self.count, Fraction(1, self.canvas.fps)
        self.count += 1
        self.container.mux(self.stream.encode(shaped))

    def __enter__(self) -> ClipWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is None:
            self.container.mux(self.stream.encode(None))
        self.container.close()
