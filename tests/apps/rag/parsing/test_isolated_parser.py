"""Files that were made to do harm cost their limits and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from gateleg.apps.rag.errors import DocumentTooLarge, EmptyDocument
from gateleg.apps.rag.parsing import ParseBounds, parse
from tests.apps.rag.parsing import samples


async def test_a_document_is_read_in_another_process(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(samples.pdf([["Read elsewhere."]]))
    found = await parse(path, "a.pdf")
    assert (found.text.strip(), found.pages[0].number) == ("Read elsewhere.", 1)
    path.write_bytes(b" ")
    with pytest.raises(EmptyDocument):
        await parse(path, "a.pdf")


async def test_ten_thousand_pages_cost_their_limit(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(samples.pdf([["x"]] * 10_000))
    with pytest.raises(DocumentTooLarge, match="10,000 pages"):
        await parse(path, "a.pdf")


async def test_time_and_memory_are_limits(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"word " * 12_000_000)
    with pytest.raises(DocumentTooLarge, match="bytes of memory"):
        await parse(path, "a.txt", ParseBounds(memory=200_000_000))
    with pytest.raises(DocumentTooLarge, match=r"a\.txt cannot be parsed: it took more than 0\.05 seconds"):
        await parse(path, "a.txt", ParseBounds(seconds=0.05))


# Tesseract fails in a process that has loaded the library of vector indexes; the processes that read documents have not.


async def test_a_scanned_page_is_read_with_a_confidence(tmp_path: Path) -> None:
    path = tmp_path / "scan.pdf"
    path.write_bytes(samples.scanned_pdf(["The harbour opens at dawn", "and closes at dusk"]))
    found = await parse(path, "scan.pdf")
    assert "harbour opens at dawn" in found.text
    (page,) = found.pages
    assert page.confidence is not None
    assert page.confidence > 0.7
    assert len(found.lines) == 2
    assert all(0 <= line.left < line.right <= page.width and 0 <= line.top < line.bottom <= page.height for line in found.lines)
    with pytest.raises(EmptyDocument, match="OCR is switched off"):
        await parse(path, "scan.pdf", ParseBounds(ocr=False))


async def test_a_picture_is_read_too(tmp_path: Path) -> None:
    samples.picture(["Mind the gap"]).save(tmp_path / "sign.png")
    assert "Mind the gap" in (await parse(tmp_path / "sign.png", "sign.png")).text


def test_processes_that_read_documents_load_no_index() -> None:
    code = (
        "import sys, importlib, gateleg.apps.rag.parsing.scans; from gateleg.apps.rag.parsing.isolated_parser import _LIBRARIES;"
        "[importlib.import_module(name) for name in _LIBRARIES]; sys.exit('usearch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
