"""Draw a scene frame by frame: its elements on a stage, seen by a camera."""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.drawing import elements as _all_elements
from gateleg.apps.mv.drawing.catalogue import ELEMENTS
from gateleg.apps.mv.drawing.elements.skies import backdrop
from gateleg.apps.mv.drawing.picture import place_picture, place_product
from gateleg.apps.mv.drawing.stage import Camera, Layer, Moment, Stage
from gateleg.apps.mv.listening.song import CURVE_RATE

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.drawing.looks import Look
    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.planning.presets import Move, Preset, Shot

assert _all_elements


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything that determines the look of a scene, except the song and the frame size."""

    look: Look
    shot: Shot
    move: Move
    #: the first frame, counted from the start of the song, and the number of frames
    first: int
    frames: int
    energy: float
    motion: float
    brightness: float
    seed: int
    preset: Preset
    #: a picture of the character or product, if it appears
    picture: Path | None = None
    #: a picture of the product, which every scene shows
    product: Path | None = None
    #: the number of earlier variations of this scene; the camera is closer each time
    repeat: int = 0


#: the horizon, the subject's feet and height, and the zoom of each shot
_FRAMING: dict[Shot, tuple[float, float, float, float]] = {
    "wide": (0.63, 0.9, 0.36, 1.0),
    "medium": (0.6, 1.0, 0.6, 1.04),
    "close": (0.56, 1.5, 1.2, 1.12),
    "detail": (0.58, 1.12, 0.8, 1.3),
    "low": (0.76, 0.97, 0.62, 1.02),
    "overhead": (0.4, 0.82, 0.34, 1.0),
}


def moment_at(song: Song, scene: Scene, frame: int, fps: int) -> Moment:
    """The state of the music at a frame."""
    time = frame / fps
    beat, beats = _pulse(song.beats, time)
    bar, _ = _pulse(song.bars, time)
    at = min(int(time * CURVE_RATE), len(song.low) - 1)
    share = (frame - scene.first) / max(scene.frames, 1)
    return Moment((frame - scene.first) / fps, share, beats, beat, bar, song.low[at], song.mid[at], song.high[at], song.level[at])


def _pulse(times: tuple[float, ...], time: float) -> tuple[float, float]:
    """The decay since the last beat, from 1 to 0, and the number of beats passed, with the fraction of the current one."""
    # A beat in the middle of a frame belongs to that frame.
    before = bisect_right(times, time + 0.021) - 1
    if before < 0:
        gap = times[0] if times else 1.0
        return 0.0, time / max(gap, 0.05) - 1.0
    start = times[before]
    end = times[before + 1] if before + 1 < len(times) else start + (start - times[before - 1] if before else 0.5)
    share = min(max((time - start) / max(end - start, 0.05), 0.0), 1.0)
    return (1.0 - share) ** 2, before + share


def camera_at(scene: Scene, moment: Moment) -> Camera:
    """The camera at a moment: its eased move, a kick on each bar, and handheld shake if the preset has it."""
    reach = scene.preset.motion * (0.35 + 0.65 * scene.motion)
    share = moment.share
    ease = share * share * (3 - 2 * share)
    zoom, x, y, roll = _FRAMING[scene.shot][3] + 0.03 * scene.repeat, 0.0, 0.0, 0.0
    if scene.move == "push":
        zoom *= 1 + 0.17 * reach * ease
    elif scene.move == "pull":
        zoom *= 1 + 0.17 * reach * (1 - ease)
    elif scene.move in ("pan left", "pan right"):
        x = (0.12 if scene.move == "pan right" else -0.12) * reach * (2 * ease - 1)
    elif scene.move in ("rise", "fall"):
        y = (-0.07 if scene.move == "rise" else 0.07) * reach * (2 * ease - 1)
    elif scene.move == "drift":
        x, y = 0.05 * reach * math.sin(moment.time * 0.5), 0.02 * reach * math.cos(moment.time * 0.37)
    elif scene.move == "orbit":
        x, roll = 0.09 * reach * math.sin(moment.time * 0.6), 1.5 * reach * math.sin(moment.time * 0.45)
    zoom *= 1 + 0.018 * moment.bar * scene.motion * min(scene.preset.motion, 1.2)
    hand = scene.preset.handheld * 0.006
    x += hand * (math.sin(moment.time * 7.1) + 0.6 * math.sin(moment.time * 12.7 + 1) + 1.5 * moment.low * math.sin(moment.time * 31))
    y += hand * (math.sin(moment.time * 6.3 + 2) + 0.6 * math.sin(moment.time * 14.1))
    limit = 0.14
    return Camera(min(max(x, -limit), limit), min(max(y, -0.08), 0.08), max(zoom, 1.0 + abs(roll) * 0.03), roll)


def set_stage(scene: Scene, width: int, height: int) -> Stage:
    """The stage of a scene."""
    horizon, foot, tall, _ = _FRAMING[scene.shot]
    aspect = width / height
    side = -1 if scene.seed % 2 else 1
    off = side * 0.2 * aspect * (1 - scene.preset.symmetry)
    if aspect < 1:
        tall *= 0.72
        foot = 1 - (1 - foot) * 0.8 if foot < 1 else foot - 0.2 * (foot - 0.9)
    light = (-side * (0.12 + 0.16 * (scene.seed % 5) / 4) * aspect * (1 - 0.6 * scene.preset.symmetry), 0.2)
    look, spot = scene.look, (off, foot, tall)
    return Stage(width, height, look.palette, scene.seed, scene.energy, scene.motion, horizon, light, spot, look.cast)


def companion_stage(stage: Stage) -> Stage:
    """The stage of a second figure: beside the first one, towards the middle of the frame and slightly behind."""
    x, foot, height = stage.spot
    side = -1 if x > 0 else 1
    return replace(stage, spot=(x + side * 0.58 * height, foot - 0.05 * height, height * 0.8), cast=stage.cast + 1)


def product_stage(stage: Stage, shot: Shot, beside: bool) -> Stage:
    """The stage of the product: wholly in the frame in every shot, in the middle, or `beside` the character and in front of it."""
    x, _, _ = stage.spot
    if not beside:
        return replace(stage, spot=(x / 2, 0.84, _PRODUCT_HEIGHT[shot]))
    return replace(stage, spot=((-0.27 if x > 0 else 0.27) * stage.aspect, 0.85, 0.4))


#: the height of a product that is alone in the frame, in each shot
_PRODUCT_HEIGHT: dict[Shot, float] = {"wide": 0.44, "medium": 0.54, "close": 0.64, "detail": 0.66, "low": 0.58, "overhead": 0.42}
#: the depth of the product: the camera moves it only a little, so that it never leaves the frame
_PRODUCT_DEPTH = 0.12


class Painter:
    """Draws the frames of one scene. Static layers are painted on construction."""

    def __init__(self, scene: Scene, song: Song, width: int, height: int, fps: int) -> None:
        self.scene, self.song, self.fps = scene, song, fps
        self.stage = set_stage(scene, width, height)
        self.layers = self._layers()

    def _layers(self) -> list[Layer]:
        layers: list[Layer] = []
        names = list(self.scene.look.elements)
        if not names or ELEMENTS[names[0]].kind not in ("sky", "field"):
            layers.append(backdrop(self.stage))
        air = [name for name in names if ELEMENTS[name].kind in ("weather", "front")]
        for name in names:
            if name not in air:
                layers += ELEMENTS[name].build(self.stage)
        subject = self._subject()
        layers += [*subject, *self._product(beside=bool(subject))]
        for name in air:
            layers += ELEMENTS[name].build(self.stage)
        return layers

    def _subject(self) -> list[Layer]:
        if self.scene.picture is not None:
            return place_picture(self.stage, self.scene.picture)
        if not self.scene.look.figure:
            return []
        layers = list(ELEMENTS[self.scene.look.figure].build(self.stage))
        if self.scene.look.companion:
            layers = [*ELEMENTS[self.scene.look.companion].build(companion_stage(self.stage)), *layers]
        return layers

    def _product(self, beside: bool) -> list[Layer]:
        """The product: its picture, or else the figure of its look."""
        stage, look = product_stage(self.stage, self.scene.shot, beside), self.scene.look
        layers: list[Layer] = []
        if self.scene.product is not None:
            layers += place_product(stage, self.scene.product)
        elif look.product:
            layers += ELEMENTS[look.product].build(stage)
        return [replace(layer, depth=_PRODUCT_DEPTH) for layer in layers]

    def draw(self, canvas: Any, frame: int) -> Moment:
        """Draw a frame, counted from the start of the song, onto a canvas of the frame's size."""
        moment = moment_at(self.song, self.scene, frame, self.fps)
        camera = camera_at(self.scene, moment)
        stage = self.stage
        canvas.save()
        canvas.scale(stage.height, stage.height)
        canvas.translate(stage.aspect / 2, 0)
        for layer in self.layers:
            canvas.save()
            if layer.depth > 0:
                zoom = 1 + (camera.zoom - 1) * (0.3 + 0.7 * layer.depth)
                canvas.translate(0, 0.5)
                canvas.rotate(camera.roll)
                canvas.scale(zoom, zoom)
                canvas.translate(-camera.x * layer.depth, -0.5 - camera.y * layer.depth)
            layer.draw(canvas, moment)
            canvas.restore()
        canvas.restore()
        return moment
