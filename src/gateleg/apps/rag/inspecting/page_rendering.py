"""Render a page of an untrusted file as an image, in a process with limits on time, memory and output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateleg.apps.rag.errors import EncryptedDocument, PageNotDrawn, UnreadableDocument
from gateleg.errors import GatelegError
from gateleg.processes import LimitReached, ProcessLimits, run_limited

PDF = "application/pdf"
PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
#: The content type of page images.
PAGE_IMAGE_TYPE = "image/webp"
#: Pixels per point: 144 per inch, sharp on most screens.
_SCALE = 2.0
#: Maximum pixels of a page image, along one side and in total.
_LONGEST, _MOST_PIXELS = 4_000, 6_000_000
_QUALITY = 80
#: Maximum bytes of a page image.
_MOST_BYTES = 20_000_000
_REFUSALS = (EncryptedDocument, PageNotDrawn, UnreadableDocument)
#: Modules that the process imports before its memory limit applies.
_IMPORTS = ("pypdfium2", "PIL.Image", "PIL.WebPImagePlugin")


@dataclass(frozen=True, slots=True)
class PageSize:
    """The size of a page in the unit of its passages' boxes: points, or pixels of an image."""

    width: float
    height: float


def can_render_pages(content_type: str | None) -> bool:
    """Whether pages of documents of this type can be rendered."""
    return content_type == PDF or content_type in PICTURES


async def render_page(source: Path, target: Path, content_type: str, page: int, *, seconds: float, memory: int) -> PageSize:
    """Render a page, counted from 1, into the file `target`. Raises `PageNotDrawn` if the page does not exist or exceeds a limit."""
    asked = {"source": str(source), "target": str(target), "kind": content_type, "page": page}
    limits = ProcessLimits(seconds, memory, _MOST_BYTES)
    try:
        found = await run_limited(f"{__name__}:render_request", asked, limits, refusals=_REFUSALS, imports=_IMPORTS)
    except LimitReached as reached:
        raise PageNotDrawn(f"Page {page} cannot be rendered: {reached.message[:1].lower()}{reached.message[1:]}") from None
    return PageSize(found["width"], found["height"])


def render_request(asked: dict[str, Any]) -> dict[str, Any]:
    """Render the page of a request; called in the limited process."""
    source, target = Path(asked["source"]), Path(asked["target"])
    try:
        size = _render_pdf(source, target, asked["page"]) if asked["kind"] == PDF else _render_image(source, target, asked["page"])
    except (GatelegError, MemoryError, OSError):
        raise
    except Exception as error:
        # Libraries raise arbitrary exceptions for a damaged file.
        raise PageNotDrawn(f"Page {asked['page']} cannot be rendered: {type(error).__name__}: {str(error)[:200]}.") from error
    return {"width": size.width, "height": size.height}


def _render_pdf(source: Path, target: Path, number: int) -> PageSize:
    import pypdfium2

    try:
        document = pypdfium2.PdfDocument(source)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise EncryptedDocument("The PDF is protected by a password.") from None
        raise UnreadableDocument(f"The PDF is damaged: {error}.") from None
    with document:
        if not 1 <= number <= len(document):
            raise PageNotDrawn(f"The document has {len(document)} pages; page {number} does not exist.")
        page = document[number - 1]
        width, height = page.get_size()
        picture = page.render(scale=_scale(width, height)).to_pil()
        _save(picture, target)
    return PageSize(round(width, 2), round(height, 2))


def _render_image(source: Path, target: Path, number: int) -> PageSize:
    from PIL import Image

    from gateleg.apps.rag.parsing.scans import LONGEST_SIDE, MOST_PIXELS_DECODED

    if number != 1:
        raise PageNotDrawn(f"An image has one page; page {number} does not exist.")
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS_DECODED
    with Image.open(source) as opened:
        picture = opened.convert("RGB")
    # Scale it down as for OCR, because the boxes are in these pixels.
    picture.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    size = PageSize(*map(float, picture.size))
    scale = min(1.0, _scale(size.width, size.height))
    picture.thumbnail((max(1, int(size.width * scale)), max(1, int(size.height * scale))))
    _save(picture, target)
    return size


def _scale(width: float, height: float) -> float:
    """Pixels per point for a page of this size."""
    return min(_SCALE, _LONGEST / max(1.0, width, height), math.sqrt(_MOST_PIXELS / max(1.0, width * height)))


def _save(picture: Any, target: Path) -> None:
    picture.convert("RGB").save(target, "WEBP", quality=_QUALITY, method=2)
