"""One index, several processes, some of which are killed."""

import subprocess
import sys
from pathlib import Path

import pytest

from gateleg.apps.rag.index.embedded import EmbeddedIndex
from tests.apps.rag.index.made import directions
from tests.apps.rag.index.writer import CHUNKS


def start(path: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.apps.rag.index.writer", str(path), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_another_process_adds_is_found(tmp_path: Path) -> None:
    index = EmbeddedIndex(tmp_path / "i")
    index.search(directions(1)[0], "text", None, 3)
    with start(tmp_path / "i", "2") as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            document = f"d{int(line)}"
            assert {hit.key.document_id for hit in index.search(None, document, None, 100)} == {document}
    assert index.generations().keys() == {"d0", "d1"}
    index.close()


@pytest.mark.crash
@pytest.mark.parametrize("after", [1, 4, 7, 12, 20])
def test_a_writer_that_is_killed_leaves_whole_documents_behind(tmp_path: Path, after: int) -> None:
    reader = EmbeddedIndex(tmp_path / "i")
    written = 0
    with start(tmp_path / "i") as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            written = int(line)
            if written == after:
                writer.kill()
    reader.check()
    counts = reader.counts()
    # What was acknowledged is there, whole; the rest is there whole or not at all (one slice is one transaction).
    for number in range(written + 1):
        removed = number % 3 == 1 and number < written
        assert counts.get((f"d{number}", 1), 0) in ((0,) if removed else (0, CHUNKS) if number % 3 == 1 else (CHUNKS,))
    assert set(counts.values()) == {CHUNKS}
    # Words, vectors and rows agree.
    for (document, _), count in counts.items():
        assert len(reader.search(None, document, None, 100)) == count
    near = reader.search(directions(CHUNKS)[0], None, None, 10_000)
    assert len(near) == sum(counts.values())
    reader.close()
