from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image, ImageDraw

from gateleg.apps.mv.composing.clips import ClipOrder, render_still
from gateleg.apps.mv.composing.encoding import Canvas
from gateleg.apps.mv.drawing.looks import Look
from gateleg.apps.mv.drawing.palettes import PALETTES
from gateleg.apps.mv.drawing.picture import read_picture
from gateleg.apps.mv.drawing.scene import Scene
from gateleg.apps.mv.errors import UnreadablePicture
from gateleg.apps.mv.planning.presets import SHOTS, find_preset

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.planning.presets import Move, Shot

LOOK = Look(("noon sun", "dunes"), "", PALETTES["summer day"])


def portrait(path: Path, background: str | None, mode: str = "RGBA") -> Path:
    picture = Image.new(mode, (120, 200), background or (0, 0, 0, 0))
    ImageDraw.Draw(picture).rounded_rectangle((30, 20, 90, 190), 20, fill=(255, 0, 200))
    picture.save(path)
    return path


def test_a_plain_background_is_cut_away_and_a_busy_one_is_not(tmp_path: Path) -> None:
    image, cut = read_picture(portrait(tmp_path / "white.png", "white"))
    assert cut
    assert (image.width(), image.height()) == pytest.approx((61, 171), abs=4)
    assert read_picture(portrait(tmp_path / "clear.png", None))[1]
    noise = np.random.default_rng(0).integers(0, 255, (80, 80, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "busy.png")
    assert not read_picture(tmp_path / "busy.png")[1]


@pytest.mark.parametrize("shot", SHOTS)
@pytest.mark.parametrize("size", [(160, 90), (90, 160)])
def test_the_picture_is_seen_in_every_shot_with_a_shadow_beside_it(shot: str, size: tuple[int, int], tmp_path: Path, song: Song) -> None:
    path = portrait(tmp_path / "pink.png", "white")
    without = Scene(LOOK, shot, "still", 0, 24, 0.5, 0.5, 0.0, 3, find_preset("clean"))  # type: ignore[arg-type]
    frames = [render_still(ClipOrder(scene, Canvas(*size)), song).astype(int) for scene in (without, replace(without, picture=path))]
    pink = (frames[1][..., 0] > frames[1][..., 1] + 50) & (frames[1][..., 2] > frames[1][..., 1] + 30)
    assert pink.mean() > 0.01
    changed = np.abs(frames[0] - frames[1]).sum(axis=2) > 12
    assert changed.mean() > pink.mean()


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("shot", SHOTS)
@pytest.mark.parametrize("size", [(160, 90), (90, 160)])
def test_a_product_stays_wholly_in_the_frame_in_its_own_colours(
    size: tuple[int, int], shot: Shot, beside: bool, tmp_path: Path, song: Song
) -> None:
    path = portrait(tmp_path / "pink.png", "white")
    look = replace(LOOK, figure="walking person") if beside else LOOK
    shares = []
    moves: tuple[Move, ...] = ("push", "pan left", "orbit")
    for move in moves:
        scene = Scene(look, shot, move, 48, 24, 0.9, 1.0, 0.0, 3, find_preset("clean"), product=path)
        for share in (0.0, 0.99):
            frame = render_still(ClipOrder(scene, Canvas(*size)), song, share).astype(int)
            pink = (np.abs(frame - (255, 0, 200)).max(axis=2) < 60) & (frame[..., 0] > 190)
            assert not np.concatenate((pink[0], pink[-1], pink[:, 0], pink[:, -1])).any()
            shares.append(float(pink.mean()))
    assert min(shares) > 0.012


@pytest.mark.parametrize("data", [b"", b"GIF89a", b"\x89PNG\r\n\x1a\n" + b"\x00" * 40])
def test_what_is_not_a_picture_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "me.png"
    path.write_bytes(data)
    with pytest.raises(UnreadablePicture, match=r"me\.png"):
        read_picture(path)


def test_what_is_said_of_a_damaged_picture_does_not_name_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "face.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(UnreadablePicture, match=r"face\.png cannot be decoded") as refused:
        read_picture(path)
    assert str(tmp_path) not in str(refused.value)
