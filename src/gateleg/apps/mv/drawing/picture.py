"""Place a picture of a character or product in a scene, cut out of its background if possible, with matching light and shadow."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import skia
from PIL import Image, ImageOps, UnidentifiedImageError

from gateleg.apps.mv.drawing.colour import mix
from gateleg.apps.mv.drawing.elements.figures import shadow
from gateleg.apps.mv.drawing.stage import LINEAR, Layer, Moment, Stage, glow, paint
from gateleg.apps.mv.errors import UnreadablePicture, reason_of

if TYPE_CHECKING:
    from pathlib import Path

#: pictures are scaled down to this, in pixels of their longer side
_MAX_SIDE = 1024
_MAX_PIXELS = 40_000_000
#: how far a background pixel may differ from the border, from 0 to 255
_NEAR = 34


@lru_cache(maxsize=4)
def read_picture(path: Path) -> tuple[Any, bool]:
    """Read a picture as a Skia image, and return whether it is cut out of its background. Raises `UnreadablePicture`.

    A picture with transparency is used as it is. If the border has nearly one colour, the connected area of that colour is removed.
    Any other picture is kept whole and shown as a card.
    """
    try:
        with Image.open(path) as opened:
            if opened.width * opened.height > _MAX_PIXELS:
                raise UnreadablePicture(
                    f"{path.name} has {opened.width * opened.height / 1e6:.0f} megapixels, more than the limit of {_MAX_PIXELS / 1e6:.0f}."
                )
            picture = ImageOps.exif_transpose(opened).convert("RGBA")
    except UnidentifiedImageError as error:
        # Pillow's message would contain the path on this machine.
        raise UnreadablePicture(f"{path.name} cannot be decoded: it is not a picture, or it is damaged.") from error
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UnreadablePicture(f"{path.name} cannot be decoded: {reason_of(error)}.") from error
    picture.thumbnail((_MAX_SIDE, _MAX_SIDE), Image.Resampling.LANCZOS)
    pixels = np.array(picture)
    cut = bool((pixels[..., 3] < 250).mean() > 0.02)
    if not cut:
        background = _background(pixels[..., :3].astype(np.int16))
        if background is not None:
            pixels[..., 3] = _softened(~background)
            cut = True
    if cut:
        pixels = _cropped(pixels)
    return skia.Image.fromarray(np.ascontiguousarray(pixels), colorType=skia.kRGBA_8888_ColorType, copy=True), cut


def _background(colours: npt.NDArray[np.int16]) -> npt.NDArray[np.bool_] | None:
    """The area in the border's colour that is connected to the border; None if there is no clear background."""
    border = np.concatenate((colours[0], colours[-1], colours[:, 0], colours[:, -1]))
    usual = np.median(border, axis=0)
    if float((np.abs(border - usual).max(axis=1) < _NEAR).mean()) < 0.85:
        return None
    alike = np.abs(colours - usual).max(axis=2) < _NEAR
    reached = np.zeros_like(alike)
    reached[0], reached[-1], reached[:, 0], reached[:, -1] = alike[0], alike[-1], alike[:, 0], alike[:, -1]
    while True:
        grown = _swept(reached, alike)
        if int(grown.sum()) == int(reached.sum()):
            break
        reached = grown
    return reached if 0.05 < float(reached.mean()) < 0.97 else None


def _swept(reached: npt.NDArray[np.bool_], alike: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Grow an area along free pixels: one sweep in each direction."""
    out = reached.copy()
    for axis, way in ((0, 1), (0, -1), (1, 1), (1, -1)):
        moved = np.moveaxis(out, axis, 0)[::way]
        free = np.moveaxis(alike, axis, 0)[::way]
        for line in range(1, len(moved)):
            moved[line] |= moved[line - 1] & free[line]
    return out


def _softened(kept: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """A mask with an edge two pixels wide."""
    mask = kept.astype(np.float64)
    for axis in (0, 1):
        mask = (np.roll(mask, 1, axis) + 2 * mask + np.roll(mask, -1, axis)) / 4
    return np.asarray(np.clip(mask * 1.3 - 0.25, 0, 1) * 255, dtype=np.uint8)


def _cropped(pixels: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    rows, columns = np.flatnonzero(pixels[..., 3].max(axis=1) > 20), np.flatnonzero(pixels[..., 3].max(axis=0) > 20)
    if not len(rows) or not len(columns):
        return pixels
    return pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def place_picture(stage: Stage, path: Path) -> list[Layer]:
    """Draw the picture at the subject's position: tinted, with a rim light and a shadow, moving on the beat."""
    image, cut = read_picture(path)
    x, foot, tall = stage.spot
    wide, tall = _fitted(image, min(tall * 1.15, 1.5), stage.aspect * 0.8)
    air = 0.28 if not stage.palette.dark else 0.42
    return [Layer(1.0, _standing(stage, image, x, foot, wide, tall, air) if cut else _card(stage, image, x, min(foot, 0.94), wide, tall))]


def place_product(stage: Stage, path: Path) -> list[Layer]:
    """Draw the picture of a product at the subject's position. It keeps its own colours, whatever the light of the scene is."""
    image, cut = read_picture(path)
    x, foot, tall = stage.spot
    wide, tall = _fitted(image, tall, stage.aspect * (0.6 if abs(x) < 0.2 * stage.aspect else 0.4))
    return [Layer(1.0, _standing(stage, image, x, foot, wide, tall, 0.08) if cut else _card(stage, image, x, foot, wide, tall))]


def _fitted(image: Any, tall: float, widest: float) -> tuple[float, float]:
    """The width and height of a picture that is this tall, or as wide as it may be."""
    wide = tall * image.width() / image.height()
    return (wide, tall) if wide <= widest else (widest, tall * widest / wide)


def _standing(stage: Stage, image: Any, x: float, foot: float, wide: float, tall: float, tinted: float) -> Any:
    area = skia.Rect.MakeXYWH(-wide / 2, -tall, wide, tall)
    light = stage.palette.light
    rim = skia.Paint(ColorFilter=skia.ColorFilters.Blend(skia.Color4f(*light, 1.0), None, skia.BlendMode.kSrcIn), AntiAlias=True)
    air = mix(stage.palette.horizon, stage.palette.light, 0.5)
    tint = skia.Paint(AntiAlias=True, ColorFilter=skia.ColorFilters.Matrix(_tint(air, tinted)))

    def draw(canvas: Any, moment: Moment) -> None:
        sway = 1.2 * math.sin(moment.beats * math.pi / 2) * stage.motion
        grown = 1 + 0.025 * moment.beat * stage.motion
        shadow(canvas, stage, x, min(foot, 1.05), wide, tall)
        glow(canvas, x, foot - tall / 2, tall * 0.75, light, 0.12 + 0.12 * moment.low)
        dx = 0.006 if stage.light[0] > x else -0.006
        for moved, brush in ((dx, rim), (0.0, tint)):
            canvas.save()
            canvas.translate(x + moved, foot - (0.003 if moved else 0.0))
            canvas.rotate(sway)
            canvas.scale(grown, grown)
            canvas.drawImageRect(image, area, LINEAR, brush)
            canvas.restore()

    return draw


def _tint(air: tuple[float, float, float], share: float) -> list[float]:
    """A colour matrix that tints a picture with the light of the scene."""
    gains = [1 - share + share * channel * 1.15 for channel in air]
    return [gains[0], 0, 0, 0, 0, 0, gains[1], 0, 0, 0, 0, 0, gains[2], 0, 0, 0, 0, 0, 1, 0]


def _card(stage: Stage, image: Any, x: float, foot: float, wide: float, tall: float) -> Any:
    frame = skia.RRect.MakeRectXY(skia.Rect.MakeXYWH(-wide / 2, -tall, wide, tall), 0.02, 0.02)

    def draw(canvas: Any, moment: Moment) -> None:
        canvas.save()
        canvas.translate(x, foot - 0.01 * math.sin(moment.time))
        canvas.rotate(1.5 * math.sin(moment.beats * math.pi / 4) * stage.motion)
        canvas.scale(1 + 0.02 * moment.beat, 1 + 0.02 * moment.beat)
        blur = skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, 0.02)
        canvas.drawRRect(
            skia.RRect.MakeRectXY(skia.Rect.MakeXYWH(-wide / 2 + 0.012, -tall + 0.02, wide, tall), 0.02, 0.02),
            paint((0.0, 0.0, 0.0), 0.5, MaskFilter=blur),
        )
        canvas.save()
        canvas.clipRRect(frame, skia.ClipOp.kIntersect, True)
        canvas.drawImageRect(image, skia.Rect.MakeXYWH(-wide / 2, -tall, wide, tall), LINEAR, skia.Paint(AntiAlias=True))
        canvas.restore()
        canvas.drawRRect(frame, paint(stage.palette.light, 0.5 + 0.4 * moment.beat, Style=skia.Paint.kStroke_Style, StrokeWidth=0.004))
        canvas.restore()

    return draw
