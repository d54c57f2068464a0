"""Writes an index until it is killed: `python -m tests.apps.rag.index.writer PATH [DOCUMENTS]`. Prints each document once it is added."""

import sys
from itertools import count
from pathlib import Path

from gateleg.apps.rag.index.embedded import EmbeddedIndex
from tests.apps.rag.index.made import directions, entries

#: Chunks of each document.
CHUNKS = 40


def write(path: Path, most: int | None = None) -> None:
    index = EmbeddedIndex(path)
    vectors = directions(CHUNKS)
    for number in count() if most is None else range(most):
        index.add_entries(f"d{number}", 1, entries(vectors, f"text of d{number}"))
        if number % 3 == 2:
            index.remove(f"d{number - 1}")
        print(number, flush=True)
    index.close()


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else None)
