"""Pages as pictures: what was read is where its boxes say, and a file made to do harm costs its limits."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from gateleg.apps.rag.errors import PageNotDrawn, UnreadableDocument
from gateleg.apps.rag.inspecting.page_rendering import PDF, can_render_pages, render_page, render_request
from gateleg.apps.rag.parsing import parse
from tests.apps.rag.parsing import samples

LINES = ["The harbour closes at noon", "Ships leave with the tide"]


def drawn(folder: Path, content: bytes, kind: str = PDF, page: int = 1) -> tuple[dict[str, Any], Image.Image]:
    """What the process would do, here."""
    source, target = folder / "source", folder / "page.webp"
    source.write_bytes(content)
    size = render_request({"source": str(source), "target": str(target), "kind": kind, "page": page})
    with Image.open(target) as picture:
        return size, picture.convert("L")


def png(lines: list[str]) -> bytes:
    out = io.BytesIO()
    samples.picture(lines).save(out, "PNG")
    return out.getvalue()


@pytest.mark.parametrize(
    ("kind", "content"),
    [(PDF, samples.pdf([["Nothing"], LINES])), (PDF, samples.scanned_pdf(LINES)), ("image/png", png(LINES))],
    ids=["text", "scan", "picture"],
)
async def test_the_ink_of_a_page_is_in_the_boxes_of_its_lines(tmp_path: Path, kind: str, content: bytes) -> None:
    page = 2 if b"Nothing" in content else 1
    size, picture = drawn(tmp_path, content, kind, page)
    found = await parse(tmp_path / "source", "file")
    boxes = [line for line in found.lines if line.page == page]
    assert len(boxes) == 2
    ink = np.asarray(picture) < 128
    total = ink.sum()
    across, down = picture.width / size["width"], picture.height / size["height"]
    for box in boxes:
        # A little more on each side, for the edges of letters.
        rows = slice(max(0, int(box.top * down) - 4), int(box.bottom * down) + 4)
        columns = slice(max(0, int(box.left * across) - 4), int(box.right * across) + 4)
        assert ink[rows, columns].any()
        ink = ink.copy()
        ink[rows, columns] = False
    assert ink.sum() < 0.02 * total


def test_a_page_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PageNotDrawn, match="has 1 pages"):
        drawn(tmp_path, samples.pdf([["One"]]), page=2)
    with pytest.raises(PageNotDrawn, match="one page"):
        drawn(tmp_path, png(LINES), "image/png", 2)
    with pytest.raises(UnreadableDocument):
        drawn(tmp_path, b"%PDF-1.4 broken")


def test_a_very_large_page_is_drawn_smaller(tmp_path: Path) -> None:
    content = samples.pdf([["Wide"]]).replace(b"[0 0 612 792]", b"[0 0 9999 99]")
    size, picture = drawn(tmp_path, content)
    assert size["width"] == 9999
    assert max(picture.size) <= 4_000


async def test_drawing_has_limits_and_a_process_of_its_own(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "page.webp"
    source.write_bytes(samples.pdf([LINES]))
    size = await render_page(source, target, PDF, 1, seconds=60, memory=1_000_000_000)
    assert (size.width, size.height, target.exists()) == (612, 792, True)
    with pytest.raises(PageNotDrawn, match="more than"):
        await render_page(source, target, PDF, 1, seconds=0.01, memory=1_000_000_000)


def test_only_pages_that_look_like_something_are_drawn() -> None:
    assert [can_render_pages(kind) for kind in (PDF, "image/jpeg", "text/plain", None)] == [True, True, False, False]
