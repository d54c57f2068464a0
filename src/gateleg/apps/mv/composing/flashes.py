"""Check for flashes that can cause seizures: at most three general or red flashes in any second (WCAG 2.3.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Sequence

    import av

Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float32]

#: the size of the thumbnails that are checked
ROWS, COLUMNS = 18, 32
#: a change of relative luminance by this much is half a flash, if the darker side is below `_BRIGHT`
_STEP, _BRIGHT = 0.1, 0.8
#: a change of saturated red by this much is half a red flash
_RED_STEP = 20.0
#: the share of the frame that must change together
_AREA = 0.25
#: flashes allowed per second
ALLOWED = 3
#: the share of the previous frame that is blended in when a flashing clip is rendered again, for each attempt
CALMER = (0.6, 0.85, 0.95)


@dataclass(frozen=True, slots=True)
class FlashReport:
    """The maximum number of flashes in any second, and the frames around which too many occur."""

    general: int
    red: int
    frames: tuple[int, ...]

    @property
    def safe(self) -> bool:
        """Whether no second has more flashes than allowed."""
        return max(self.general, self.red) <= ALLOWED


def thumbnail(frame: av.VideoFrame) -> Bytes:
    """The mean colours of the cells of a grid over a frame."""
    small = frame.reformat(COLUMNS * 5, ROWS * 5, "rgb24", src_colorspace="ITU709", interpolation="BILINEAR", threads=1).to_ndarray()
    return np.asarray(small.reshape(ROWS, 5, COLUMNS, 5, 3).mean(axis=(1, 3)), dtype=np.uint8)


def check_flashes(thumbnails: Bytes, fps: int) -> FlashReport:
    """Count flashes in a sequence of thumbnails: an array of frames, rows, columns, and red, green and blue."""
    if len(thumbnails) < 2:
        return FlashReport(0, 0, ())
    colours = thumbnails.astype(np.float32) / 255
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4).astype(np.float32)
    luminance = (linear @ np.array([0.2126, 0.7152, 0.0722], dtype=np.float32)).reshape(len(linear), -1)
    red = np.maximum((linear[..., 0] - linear[..., 1] - linear[..., 2]) * 320, 0.0).reshape(len(linear), -1)
    total = linear.sum(axis=-1).reshape(len(linear), -1)
    saturated = (linear[..., 0].reshape(len(linear), -1) >= 0.8 * np.maximum(total, 1e-6)) & (total > 0.01)
    general = _halves(luminance, _STEP, luminance < _BRIGHT)
    reds = _halves(np.where(saturated, red, 0.0).astype(np.float32), _RED_STEP, np.ones_like(saturated))
    worst, around = _worst(general, fps)
    worst_red, around_red = _worst(reds, fps)
    return FlashReport(worst, worst_red, tuple(sorted({*around, *around_red})))


def _halves(values: Floats, step: float, dark: npt.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The frames at which a large part of the image has changed by a step, with the direction; only reversals count."""
    extreme = values[0].copy()
    direction = np.zeros(values.shape[1], dtype=np.int8)
    found: list[tuple[int, int]] = []
    recent = np.zeros((3, 2, values.shape[1]), dtype=bool)
    was_dark = dark[0].copy()
    for frame in range(1, len(values)):
        now = values[frame]
        change = now - extreme
        rising = (change >= step) & (direction <= 0) & (was_dark | dark[frame])
        falling = (change <= -step) & (direction >= 0) & (was_dark | dark[frame])
        further = ((direction > 0) & (now > extreme)) | ((direction < 0) & (now < extreme))
        turned = rising | falling
        direction[rising], direction[falling] = 1, -1
        extreme = np.where(turned | further, now, extreme)
        calm = direction == 0
        extreme = np.where(calm, extreme * 0.9 + now * 0.1, extreme)
        was_dark = np.where(turned | further | calm, dark[frame], was_dark)
        recent[frame % 3, 0], recent[frame % 3, 1] = rising, falling
        for side, sign in ((0, 1), (1, -1)):
            if float(recent[:, side].any(axis=0).mean()) >= _AREA:
                if not found or found[-1][1] != sign:
                    found.append((frame, sign))
                recent[:, side] = False
    return found


def _worst(halves: Sequence[tuple[int, int]], fps: int) -> tuple[int, list[int]]:
    """The maximum number of flashes (pairs of halves) within a second, and the frames of the excess ones."""
    frames = [frame for frame, _ in halves]
    worst, around = 0, []
    for at, frame in enumerate(frames):
        count = sum(1 for other in frames[at:] if other < frame + fps)
        worst = max(worst, count // 2)
        if count // 2 > ALLOWED:
            around += frames[at : at + count]
    return worst, around
