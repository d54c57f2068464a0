"""Writing H.264: every clip of a video with the same settings, so that clips are joined without encoding them again."""

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

#: the clock of all video: divisible by the usual frame rates
TICKS = 12_288


@dataclass(frozen=True, slots=True)
class Canvas:
    """The size and frame rate of a video. Sides are even, as H.264 wants them."""

    width: int
    height: int
    fps: int = 24
    #: the quality of libx264: lower is better and larger
    crf: int = 20
    #: how much effort libx264 makes
    effort: str = "veryfast"

    def __post_init__(self) -> None:
        if self.width % 2 or self.height % 2 or not (16 <= self.width <= 4096 and 16 <= self.height <= 4096):
            raise ValueError(f"A canvas of {self.width}x{self.height} is not possible: sides are even, from 16 to 4096.")
        if not 1 <= self.fps <= 120 or TICKS * 1000 % self.fps:
            raise ValueError(f"{self.fps} frames a second are not possible: give 24, 25, 30, 48, 50 or 60.")


HD = Canvas(1280, 720)
DRAFT = Canvas(854, 480, crf=23, effort="superfast")
FULL_HD = Canvas(1920, 1080)
VERTICAL = Canvas(720, 1280)
SQUARE = Canvas(1080, 1080)


def add_video(container: Any, canvas: Canvas) -> Any:
    """A video stream with the settings of a canvas: frames in order, a key frame at least every two seconds, colours by BT.709."""
    stream = container.add_stream("libx264", rate=canvas.fps)
    stream.width, stream.height, stream.pix_fmt = canvas.width, canvas.height, "yuv420p"
    stream.time_base = Fraction(1, TICKS)
    context = stream.codec_context
    context.time_base = Fraction(1, canvas.fps)
    context.gop_size = 2 * canvas.fps
    context.max_b_frames = 0
    context.color_primaries = context.color_trc = context.colorspace = 1
    context.color_range = 1
    # One thread for each clip: clips are encoded side by side, and the result is the same on every machine.
    stream.options = {"preset": canvas.effort, "crf": str(canvas.crf), "threads": "1"} | _instructions()
    return stream


@cache
def _instructions() -> dict[str, str]:
    """Keep libx264 from using AVX-512.

    Its macroblock tree reads memory that it never wrote there: now and then, equal frames became different bytes (seen with
    frames of 32x18 and 64x36, never with AVX2, which gives the usual bytes). Where the flags of the processor cannot be
    read, nothing is changed: libx264 would use instructions that are asked for and do not exist.
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
        """Add a frame whose pixels are blue, green, red, alpha."""
        frame = av.VideoFrame.from_ndarray(pixels, format="bgra")
        self.write_frame(frame)

    def write_frame(self, frame: av.VideoFrame) -> None:
        """Add a frame of any format; it is brought to the size of the canvas."""
        # One thread: starting several for each frame takes longer than the work of one, and their number would be the machine's.
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
