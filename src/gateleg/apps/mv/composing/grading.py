"""Grade frames, from pixels to the encoder's format: tones, glow, vignette and grain of a director preset.

All steps work on the YUV planes of the encoder's format, which have half as many values as RGB.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import av
import numpy as np
from av.video.reformatter import Colorspace, VideoReformatter
from PIL import Image, ImageFilter

from gateleg.apps.mv.drawing.grade import ColourTransform, transform_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.apps.mv.composing.flashes import Bytes, Floats
    from gateleg.apps.mv.planning.presets import Grade

#: luma of black and white in video range, the range between them, and the middle and range of chroma
_BLACK, _WHITE, _RANGE = 16.0, 235.0, 219.0
_GREY, _COLOUR = 128.0, 224.0
#: RGB to YUV: BT.709
_COLOURS = int(Colorspace.ITU709)
#: rows that are processed together, so that they stay in the processor's cache; even, for the chroma planes
_BAND = 48
#: the downscaling factor of the image that glow is computed from
_SMALL = 8


def planes_of(frame: av.VideoFrame) -> tuple[Bytes, Bytes, Bytes]:
    """The luma plane and the two chroma planes of a frame, as writable views."""
    found = []
    for plane in frame.planes:
        rows = np.frombuffer(plane, dtype=np.uint8).reshape(-1, plane.line_size)  # type: ignore[call-overload]
        found.append(rows[: plane.height, : plane.width])
    return found[0], found[1], found[2]


class Finisher:
    """Grades frames of one size."""

    def __init__(self, width: int, height: int, grade: Grade) -> None:
        self.width, self.height, self.grade = width, height, grade
        self._to_video, self._to_small, self._to_large = VideoReformatter(), VideoReformatter(), VideoReformatter()
        self._edge = _vignette(width, height, grade.vignette)
        self._edge_of_colour = np.ascontiguousarray(self._edge[::2, ::2])
        self._grain = _grain(width, height, grade.grain)

    def finish(self, pixels: Bytes, number: int, exposure: float) -> av.VideoFrame:
        """Grade a frame of BGRA pixels. `number` moves the grain, `exposure` brightens."""
        frame = video_frame(pixels, self._to_video)
        tones = transform_of(self.grade, exposure)
        glow = self._glow(frame) if self.grade.glow else None
        bright, blue, red = planes_of(frame)
        halos = planes_of(glow) if glow is not None else None
        # Chroma depends on the luma before the grade.
        sampled = bright[::2, ::2].copy()
        self._finish_brightness(bright, tones, number, halos[0] if halos else None)
        for plane, lean, tint, halo in zip((blue, red), tones.lean, tones.tint, halos[1:] if halos else (None, None), strict=True):
            self._finish_colour(plane, sampled, tones.colour, lean, tint, halos[0][::2, ::2] if halos else None, halo)
        return frame

    def _finish_brightness(self, plane: Bytes, tones: ColourTransform, number: int, halo: Bytes | None) -> None:
        lift = np.float32(_BLACK + _RANGE * tones.lift - _BLACK * tones.gain)
        down, across = number * 151 % _SLACK, number * 73 % _SLACK
        for rows in _bands(self.height, _BAND):
            values = plane[rows].astype(np.float32)
            values *= np.float32(tones.gain)
            values += lift
            np.clip(values, _BLACK, _WHITE, out=values)
            if halo is not None:
                values += _strength(halo[rows], self.grade.glow) * (_WHITE - values)
            values -= np.float32(_BLACK)
            values *= self._edge[rows]
            if self._grain is not None:
                moved = self._grain[down + rows.start : down + rows.stop, across : across + self.width]
                values += moved * np.minimum(values, np.float32(_RANGE) - values)
            values += np.float32(_BLACK + 0.5)
            plane[rows] = values

    def _finish_colour(
        self, plane: Bytes, bright: Bytes, own: float, lean: float, tint: float, halo_bright: Bytes | None, halo: Bytes | None
    ) -> None:
        follow = np.float32(lean * _COLOUR / _RANGE)
        shift = np.float32(_COLOUR * tint - _BLACK * float(follow))
        for rows in _bands(len(plane), _BAND // 2):
            values = plane[rows].astype(np.float32)
            values -= np.float32(_GREY)
            values *= np.float32(own)
            if lean or tint:
                values += bright[rows] * follow + shift
            if halo_bright is not None and halo is not None:
                values *= 1 - _strength(halo_bright[rows], self.grade.glow)
                values += (halo[rows] - np.float32(_GREY)) * np.float32(_GLOW * self.grade.glow * min(self.grade.saturation, 1.0))
            values *= self._edge_of_colour[rows]
            values += np.float32(_GREY + 0.5)
            plane[rows] = np.clip(values, 16, 240)

    def _glow(self, frame: av.VideoFrame) -> av.VideoFrame:
        """The glow in the size of the frame: highlights above about two thirds, blurred widely."""
        size = max(self.width // _SMALL, 2), max(self.height // _SMALL, 2)
        small = self._to_small.reformat(frame, *size, "rgb24", src_colorspace=_COLOURS, interpolation="BILINEAR", threads=1).to_ndarray()
        seen = small.astype(np.float32)
        bright = (seen * np.float32(1.7) + seen.sum(axis=2, keepdims=True) * np.float32(0.1) - np.float32(1.15 * 255)).clip(0, 255)
        # The blur radius scales with the frame.
        spread = Image.fromarray(bright.astype(np.uint8)).filter(ImageFilter.GaussianBlur(self.height / _SMALL * 0.045))
        soft = av.VideoFrame.from_ndarray(np.asarray(spread), format="rgb24")
        return self._to_large.reformat(
            soft, self.width, self.height, "yuv420p", dst_colorspace=_COLOURS, interpolation="BILINEAR", threads=1
        )


def video_frame(pixels: Bytes, reformatter: VideoReformatter | None = None) -> av.VideoFrame:
    """Convert BGRA pixels to the encoder's format."""
    height, width = pixels.shape[:2]
    frame = av.VideoFrame.from_numpy_buffer(pixels, format="bgra")
    # Use one thread: starting several for each frame takes longer, and their number would depend on the machine.
    return (reformatter or VideoReformatter()).reformat(frame, width, height, "yuv420p", dst_colorspace=_COLOURS, threads=1)


def pixels_of(frame: av.VideoFrame) -> Bytes:
    """The BGRA pixels of a finished frame."""
    # Not converted to BGRA by the library: it leaves the last columns unset if the width is 1 to 4 more than a multiple of 16.
    pixels = np.full((frame.height, frame.width, 4), 255, dtype=np.uint8)
    pixels[..., :3] = frame.reformat(format="bgr24", src_colorspace="ITU709", threads=1).to_ndarray()
    return pixels


def darken(frame: av.VideoFrame, share: float) -> None:
    """Darken a frame by a share from 0 (unchanged) to 1 (black)."""
    for plane, zero in zip(planes_of(frame), (_BLACK, _GREY, _GREY), strict=True):
        plane[:] = (plane - np.float32(zero)) * np.float32(1 - min(share, 1.0)) + np.float32(zero + 0.5)


def blacken(frame: av.VideoFrame, rows: int) -> None:
    """Draw letterbox bars of this height over a frame."""
    for plane, zero, high in zip(planes_of(frame), (_BLACK, _GREY, _GREY), (rows, rows // 2, rows // 2), strict=True):
        plane[:high] = plane[len(plane) - high :] = int(zero)


def keep_from(frame: av.VideoFrame, before: tuple[Bytes, ...], share: float) -> None:
    """Blend a share of the previous frame into a frame, to soften flashes."""
    for plane, old in zip(planes_of(frame), before, strict=True):
        plane[:] = plane * np.float32(1 - share) + old * np.float32(share) + np.float32(0.5)


#: the strength of the glow at its maximum
_GLOW = 1.3
#: how far the grain can be moved, in pixels
_SLACK = 61


def _strength(halo: Bytes, glow: float) -> Floats:
    """How far the glow moves the pixels below it towards white, 0 to 1."""
    return np.asarray(np.clip((halo - np.float32(_BLACK)) * np.float32(_GLOW * glow / _RANGE), 0, 1), dtype=np.float32)


def _bands(height: int, rows: int) -> Iterator[slice]:
    return (slice(start, min(start + rows, height)) for start in range(0, height, rows))


def _vignette(width: int, height: int, strength: float) -> Floats:
    """The brightness factor of each pixel: 1 in the middle, less towards the corners."""
    x, y = np.arange(width) + 0.5 - width / 2, np.arange(height) + 0.5 - height / 2
    away = np.hypot(x[None, :], y[:, None]) / (np.hypot(width, height) / 2)
    return np.asarray(1 - min(strength * 0.75, 1.0) * ((away - 0.35) / 0.65).clip(0, 1), dtype=np.float32)


def _grain(width: int, height: int, strength: float) -> Floats | None:
    """Film grain, larger than the frame so that it can be shifted; deterministic."""
    if strength <= 0:
        return None
    # Grains are larger than pixels, as in film: finer grain would only cost bits.
    coarse = max(height / 400, 1.0)
    noise = np.random.default_rng(7).normal(0.0, min(strength * 0.55, 0.3), (256, 256)).clip(-0.5, 0.5).astype(np.float32)
    rows, columns = ((np.arange(length + _SLACK) / coarse).astype(int) % 256 for length in (height, width))
    return np.ascontiguousarray(2 * noise[rows][:, columns])
