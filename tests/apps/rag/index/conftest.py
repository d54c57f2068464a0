from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.apps.rag.index.embedded import EmbeddedIndex


@pytest.fixture
def index(tmp_path: Path) -> Iterator[EmbeddedIndex]:
    found = EmbeddedIndex(tmp_path / "own.index", synchronous=False)
    yield found
    found.close()
