"""Kinetic typography: titles and lyrics, word by word, in fonts that are installed with the application.

HarfBuzz shapes the text (kerning, ligatures, marks, right-to-left scripts). System fonts are never used, because the same text would look
different on another machine. For scripts that the built-in fonts lack, the font files of the settings are used; `check_texts` refuses all
other scripts before anything is drawn.
"""

from __future__ import annotations

import importlib.util
import math
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import skia

from gateleg.apps.mv.drawing.colour import Colour, mix
from gateleg.apps.mv.drawing.stage import paint
from gateleg.apps.mv.errors import UnwritableText
from gateleg.extras import explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.drawing.palettes import Palette
    from gateleg.apps.mv.drawing.stage import Moment
    from gateleg.apps.mv.planning.presets import Typeface
    from gateleg.apps.mv.writing.lyrics import Line

#: package and file of each typeface; all under the SIL Open Font License
_FILES: dict[Typeface, tuple[str, str]] = {
    "grotesque": ("font_manrope", "Manrope-ExtraBold.ttf"),
    "serif": ("font_source_serif_pro", "SourceSerifPro-Semibold.ttf"),
    "handwritten": ("font_amatic_sc", "AmaticSC-Bold.ttf"),
    "rounded": ("font_fredoka_one", "FredokaOne-Regular.ttf"),
}
#: size factors that make the typefaces look equally large
_SIZES: dict[Typeface, float] = {"grotesque": 1.0, "serif": 1.08, "handwritten": 1.6, "rounded": 1.0}


@lru_cache(maxsize=8)
def load_typeface(name: Typeface | Path) -> Any:
    """A built-in typeface by name, or any font file by path."""
    if isinstance(name, Path):
        return skia.Typeface.MakeFromFile(str(name))
    package, file = _FILES[name]
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise explained(ModuleNotFoundError(f"No module named {package!r}", name=package))
    return skia.Typeface.MakeFromFile(str(Path(found.origin).parent / "files" / file))


def missing_glyphs(text: str, name: Typeface | Path) -> str:
    """The characters of a text that a typeface cannot draw, each once."""
    typeface = load_typeface(name)
    signs = {sign for sign in unicodedata.normalize("NFC", text) if not sign.isspace() and not _is_invisible(sign)}
    return "".join(sorted(sign for sign in signs if typeface.unicharToGlyph(ord(sign)) == 0))


def _is_invisible(sign: str) -> bool:
    """Whether a character is invisible: joiners, direction marks, variation selectors."""
    return unicodedata.category(sign) in {"Cc", "Cf"} or "\ufe00" <= sign <= "\ufe0f"


def check_texts(text: str, fonts: Sequence[Path] = ()) -> None:
    """Raise `UnwritableText` if no available font has the characters of a word."""
    for font in fonts:
        if load_typeface(font) is None:
            raise UnwritableText(f"{font} cannot be read as a font.", fix="Use a TrueType or OpenType file (.ttf, .otf, .ttc).")
    missing = {sign for word in set(text.split()) if _typeface_for(word, "grotesque", fonts) is None for sign in word}
    lacking = [sign for sign in sorted(missing) if all(missing_glyphs(sign, face) for face in (*_FILES, *fonts))]
    if missing:
        shown = "".join(lacking[:20] or sorted(missing)[:20])
        raise UnwritableText(f"The title or the lyrics contain characters that no available font has: {shown}.")


def _typeface_for(text: str, name: Typeface, fonts: Sequence[Path]) -> Typeface | Path | None:
    """The typeface of the preset or, if it lacks a character, the first other typeface that has all of them."""
    for candidate in (name, *(other for other in _FILES if other != name), *fonts):
        if not missing_glyphs(text, candidate):
            return candidate
    return None


def _runs_right_to_left(text: str) -> bool:
    """Whether a text starts in a right-to-left script."""
    strong = next((way for way in map(unicodedata.bidirectional, text) if way in {"L", "R", "AL"}), "L")
    return strong != "L"


def _shaped(word: str, font: Any) -> Any:
    return skia.TextBlob.MakeFromShapedText(word, font, not _runs_right_to_left(word))


@dataclass(frozen=True, slots=True)
class _Word:
    blob: Any
    x: float
    y: float
    width: float


class TextPainter:
    """Draws titles and lyrics onto finished frames of one size."""

    def __init__(self, width: int, height: int, typeface: Typeface, palette: Palette, fonts: Sequence[Path] = ()) -> None:
        self.width, self.height, self.typeface, self.fonts = width, height, typeface, fonts
        self.light: Colour = mix(palette.light, (1.0, 1.0, 1.0), 0.75)
        self.accent: Colour = mix(palette.accent, (1.0, 1.0, 1.0), 0.45)
        self.set: dict[tuple[str, float], list[list[_Word]]] = {}

    def _lines(self, text: str, size: float) -> list[list[_Word]]:
        """Break a text into lines that fit the frame, each word shaped and measured; cached."""
        key = (text, size)
        if key in self.set:
            return self.set[key]
        limit = self.width * 0.84
        fonts = self._fonts(text, size)
        widths = {word: font.measureText(word) for word, font in fonts.items()}
        longest = max(widths.values(), default=0.0)
        if longest > limit:
            for font in fonts.values():
                font.setSize(font.getSize() * limit / longest)
            widths = {word: wide * limit / longest for word, wide in widths.items()}
        space = max((font.measureText(" ") for font in fonts.values()), default=0.0) or size * 0.25
        spacing = max((font.getSpacing() for font in fonts.values()), default=size)
        rows: list[list[str]] = [[]]
        for word in text.split():
            if rows[-1] and sum(widths[part] + space for part in rows[-1]) + widths[word] > limit:
                rows.append([])
            rows[-1].append(word)
        backwards = _runs_right_to_left(text)
        self.set[key] = [
            [
                _Word(_shaped(word, fonts[word]), x, number * spacing, widths[word])
                for word, x in self._placed(row, widths, space, backwards)
            ]
            for number, row in enumerate(rows)
        ]
        return self.set[key]

    def _fonts(self, text: str, size: float) -> dict[str, Any]:
        """The font of each word; the same font for all words if it has all characters."""
        whole = _typeface_for(text, self.typeface, self.fonts)
        faces = {word: whole or _typeface_for(word, self.typeface, self.fonts) or self.typeface for word in text.split()}
        return {
            word: skia.Font(load_typeface(face), size * (1.0 if isinstance(face, Path) else _SIZES[face])) for word, face in faces.items()
        }

    def _placed(self, row: list[str], widths: dict[str, float], space: float, backwards: bool) -> list[tuple[str, float]]:
        """The words of a centred row in reading order, each with its left edge."""
        wide = sum(widths[word] for word in row) + space * (len(row) - 1)
        edge = (self.width + wide) / 2 if backwards else (self.width - wide) / 2
        placed = []
        for word in row:
            placed.append((word, edge - widths[word] if backwards else edge))
            edge += (widths[word] + space) * (-1 if backwards else 1)
        return placed

    def _tall(self, text: str, size: float) -> float:
        lines = self._lines(text, size)
        return (lines[-1][0].y + size * 1.2) if lines and lines[-1] else 0.0

    def _word(self, canvas: Any, word: _Word, top: float, age: float, colour: Colour, alpha: float, size: float) -> None:
        """Draw a word that appears with an overshoot in size and a small rise."""
        if age <= 0 or alpha <= 0:
            return
        grown = 1 + 0.35 * math.exp(-7 * age) * math.cos(9 * age) - 0.35 * math.exp(-14 * age)
        rise = size * 0.35 * math.exp(-9 * age)
        fade = alpha * min(age * 9, 1.0)
        canvas.save()
        canvas.translate(word.x + word.width / 2, top + word.y + size * 0.6 + rise)
        canvas.scale(grown, grown)
        shadow = paint((0.0, 0.0, 0.0), 0.65 * fade, MaskFilter=skia.MaskFilter.MakeBlur(skia.kNormal_BlurStyle, size * 0.09))
        canvas.drawTextBlob(word.blob, -word.width / 2, -size * 0.6 + size * 0.03, shadow)
        canvas.drawTextBlob(word.blob, -word.width / 2, -size * 0.6, paint(colour, fade))
        canvas.restore()

    def draw_title(self, canvas: Any, title: str, artist: str, seconds: float, length: float, moment: Moment) -> None:
        """Draw the title and the artist below it, word by word; both fade out at the end of `length` seconds."""
        fade = min(max((length - seconds) / 0.6, 0.0), 1.0)
        if not title or fade <= 0:
            return
        size = min(self.height * 0.115, self.width * 0.11)
        tall = self._tall(title, size)
        top = (self.height - tall) * 0.46
        place = 0
        for line in self._lines(title, size):
            for word in line:
                self._word(canvas, word, top, seconds - 0.25 - 0.12 * place, self.light, fade, size)
                place += 1
        bar = self.width * 0.1 * min(max((seconds - 0.5) * 2, 0.0), 1.0) * (1 + 0.15 * moment.beat)
        y = top + tall + size * 0.25
        canvas.drawRect(skia.Rect.MakeXYWH(self.width / 2 - bar / 2, y, bar, self.height * 0.007), paint(self.accent, fade))
        small = size * 0.42
        for line in self._lines(artist, small) if artist else []:
            for number, word in enumerate(line):
                self._word(canvas, word, y + size * 0.3, seconds - 0.7 - 0.1 * number, self.accent, fade, small)

    def draw_line(self, canvas: Any, line: Line, seconds: float, moment: Moment, beats: Sequence[float]) -> None:
        """Draw a line of lyrics in the lower third, word by word, the newest in the accent colour."""
        left = min(max((line.end - seconds) / 0.25, 0.0), 1.0)
        size = min(self.height * 0.07, self.width * 0.075)
        rows = self._lines(line.text, size)
        top = self.height * 0.86 - self._tall(line.text, size)
        count = sum(len(row) for row in rows)
        step = min((line.end - line.start) * 0.55 / max(count, 1), 0.4)
        place = 0
        for row in rows:
            for word in row:
                age = seconds - line.start - place * step
                newest = 0 <= age < step * 1.2
                self._word(
                    canvas,
                    word,
                    top,
                    age,
                    mix(self.light, self.accent, 0.9 if newest else 0.0),
                    left,
                    size * (1 + 0.02 * moment.beat * newest),
                )
                place += 1
