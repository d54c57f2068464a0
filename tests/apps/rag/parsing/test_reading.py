"""Files that were made to do harm cost their limits and nothing else."""

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
    with pytest.raises(DocumentTooLarge, match=r"a\.txt cannot be read: it took more than 0\.05 seconds"):
        await parse(path, "a.txt", ParseBounds(seconds=0.05))
