from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import skia

from gateleg.apps.mv.drawing.lettering import Letterer, load_typeface, missing_glyphs
from gateleg.apps.mv.drawing.palettes import PALETTES
from gateleg.apps.mv.drawing.stage import Moment
from gateleg.apps.mv.writing.lyrics import Line

if TYPE_CHECKING:
    from collections.abc import Callable

MOMENT = Moment(0.0, 0.5, 4.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5)
FACES = ("grotesque", "serif", "handwritten", "rounded")


def ink(draw: Callable[[Any], None], width: int = 320, height: int = 180) -> Any:
    surface = skia.Surface(width, height)
    draw(surface.getCanvas())
    return surface.makeImageSnapshot().toarray()[..., 3].astype(int)


@pytest.mark.parametrize("face", FACES)
def test_typefaces_come_with_the_application_and_can_write_european_names(face: Any) -> None:
    assert load_typeface(face).countGlyphs() > 100
    assert missing_glyphs("Ångström façade España", face) == ""


def test_what_a_typeface_cannot_write_is_reported() -> None:
    assert missing_glyphs("ab 字 字", "grotesque") == "字"


def test_words_come_one_after_another_and_leave() -> None:
    letterer = Letterer(320, 180, "grotesque", PALETTES["blue night"])
    line = Line(1.0, 4.0, "one two three four")

    def amount(at: float) -> int:
        return int(ink(lambda canvas: letterer.draw_line(canvas, line, at, MOMENT, ())).sum())

    amounts = [amount(at) for at in (1.01, 1.6, 2.9, 3.99)]
    assert amounts[0] < amounts[1] < amounts[2]
    assert amounts[3] < amounts[2]


@pytest.mark.parametrize("size", [(320, 180), (90, 160), (120, 120)])
def test_a_long_title_stays_inside_the_frame(size: tuple[int, int]) -> None:
    letterer = Letterer(*size, "serif", PALETTES["blue night"])
    marks = ink(
        lambda canvas: letterer.draw_title(canvas, "Donaudampfschifffahrtsgesellschaft and other songs", "Somebody", 2.5, 4.2, MOMENT),
        *size,
    )
    assert marks.sum() > 0
    columns = np.flatnonzero(marks.max(axis=0) > 128)
    assert columns[0] > 0.02 * size[0]
    assert columns[-1] < 0.98 * size[0]
