from __future__ import annotations

import struct
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import skia

from gateleg.apps.mv.drawing.lettering import TextPainter, check_texts, load_typeface, missing_glyphs
from gateleg.apps.mv.drawing.palettes import PALETTES
from gateleg.apps.mv.drawing.stage import Moment
from gateleg.apps.mv.errors import UnwritableText
from gateleg.apps.mv.writing.lyrics import Line

if TYPE_CHECKING:
    from collections.abc import Callable

MOMENT = Moment(0.0, 0.5, 4.0, 0.0, 0.0, 0.5, 0.5, 0.5, 0.5)
FACES = ("grotesque", "serif", "handwritten", "rounded")


def ink(draw: Callable[[Any], None], width: int = 320, height: int = 180) -> Any:
    surface = skia.Surface(width, height)
    draw(surface.getCanvas())
    return surface.makeImageSnapshot().toarray()[..., 3].astype(int)


def other_script(folder: Path) -> Path:
    """A font that has one character, 愛: one of ours with another table of characters."""
    spec = find_spec("font_fredoka_one")
    assert spec is not None
    assert spec.origin is not None
    font = bytearray((Path(spec.origin).parent / "files" / "FredokaOne-Regular.ttf").read_bytes())
    glyph = load_typeface("rounded").unicharToGlyph(ord("B"))
    group = struct.pack(">III", ord("愛"), ord("愛"), glyph)
    table = struct.pack(">HHHHI", 0, 1, 3, 10, 12) + struct.pack(">HHIII", 12, 0, 16 + len(group), 0, 1) + group
    entry = font.index(b"cmap")
    font[entry + 8 : entry + 16] = struct.pack(">II", len(font), len(table))
    path = folder / "other.ttf"
    path.write_bytes(font + table)
    return path


@pytest.mark.parametrize("face", FACES)
def test_typefaces_come_with_the_application_and_can_write_european_names(face: Any) -> None:
    assert load_typeface(face).countGlyphs() > 100
    assert missing_glyphs("Ångström façade España", face) == ""


def test_what_a_typeface_cannot_write_is_reported() -> None:
    assert missing_glyphs("ab 字 字", "grotesque") == "字"


def test_marks_that_are_not_seen_and_composed_letters_need_no_glyph() -> None:
    assert missing_glyphs("\ufeffe\u0301a\u200db", "grotesque") == ""


def test_a_text_that_no_font_can_write_is_refused_with_its_characters() -> None:
    check_texts("Привет, Ελληνικά, שלום")
    with pytest.raises(UnwritableText, match="愛") as refused:
        check_texts("love 愛")
    assert "fonts" in refused.value.fix


def test_a_font_file_of_the_settings_writes_what_the_own_fonts_lack(tmp_path: Path) -> None:
    font = other_script(tmp_path)
    check_texts("love 愛", [font])
    plain, drawn = (TextPainter(320, 180, "grotesque", PALETTES["blue night"], fonts) for fonts in ((), (font,)))
    line = Line(0.0, 4.0, "愛")
    with_box, with_glyph = (
        int(ink(partial(one.draw_line, line=line, seconds=2.0, moment=MOMENT, beats=())).sum()) for one in (plain, drawn)
    )
    assert with_glyph > 0
    assert with_glyph != with_box


def test_a_file_that_is_not_a_font_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.ttf").write_text("hello")
    with pytest.raises(UnwritableText, match="cannot be read as a font"):
        check_texts("hello", [tmp_path / "text.ttf"])


def test_scripts_from_right_to_left_start_at_the_right() -> None:
    letterer = TextPainter(320, 180, "handwritten", PALETTES["blue night"])

    def centre(seconds: float, text: str) -> float:
        marks = ink(partial(letterer.draw_line, line=Line(0.0, 4.0, text), seconds=seconds, moment=MOMENT, beats=()))
        return float((marks.sum(axis=0) * np.arange(320)).sum() / marks.sum())

    first_word = 0.3
    assert centre(first_word, "שלום עולם גדול") > 160 > centre(first_word, "hello big world")


def test_words_come_one_after_another_and_leave() -> None:
    letterer = TextPainter(320, 180, "grotesque", PALETTES["blue night"])
    line = Line(1.0, 4.0, "one two three four")

    def amount(at: float) -> int:
        return int(ink(lambda canvas: letterer.draw_line(canvas, line, at, MOMENT, ())).sum())

    amounts = [amount(at) for at in (1.01, 1.6, 2.9, 3.99)]
    assert amounts[0] < amounts[1] < amounts[2]
    assert amounts[3] < amounts[2]


@pytest.mark.parametrize("size", [(320, 180), (90, 160), (120, 120)])
def test_a_long_title_stays_inside_the_frame(size: tuple[int, int]) -> None:
    letterer = TextPainter(*size, "serif", PALETTES["blue night"])
    marks = ink(
        lambda canvas: letterer.draw_title(canvas, "Donaudampfschifffahrtsgesellschaft and other songs", "Somebody", 2.5, 4.2, MOMENT),
        *size,
    )
    assert marks.sum() > 0
    columns = np.flatnonzero(marks.max(axis=0) > 128)
    assert columns[0] > 0.02 * size[0]
    assert columns[-1] < 0.98 * size[0]
