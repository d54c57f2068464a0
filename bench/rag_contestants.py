"""One vector store, run on a folder of vectors and texts; prints the results as JSON. Each has its own process and environment.

`python rag_contestants.py NAME FOLDER fill|search|quality`, where NAME is gateleg, chroma or lancedb: `fill` creates the store in a folder
of that name, `search` opens it and answers queries from standard input, and `quality` searches for all questions. The folder has
`vectors.f32` and `texts.jsonl`, which are read in batches, `groups.npy` (0 to 99: the part of the chunks that passes a filter, in
percent), `queries.npy` and `questions.json`. Only gateleg's own run imports the project.
"""

import itertools
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

K = 10
#: Chunks that are added at a time.
BATCH = 1_000
#: Queries with each filter: some peers take a long time for them.
FILTERED = 50


def memory(field: str = "VmRSS") -> float:
    """Megabytes that this process holds; with `VmHWM`, the most that it has held."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    return 0.0


def timed(ask: Callable[[int], list[int]], count: int) -> dict[str, Any]:
    """The answers of queries, and how long each took. `cpu` is the processor time of a query, of all threads, which others disturb less."""
    answers, seconds = [], []
    cpu = time.process_time()
    for number in range(count):
        began = time.perf_counter()
        answers.append(ask(number))
        seconds.append(time.perf_counter() - began)
    cpu = (time.process_time() - cpu) * 1000 / count
    p50, p95 = np.percentile(np.array(seconds) * 1000, [50, 95])
    return {"p50": float(p50), "p95": float(p95), "cpu": cpu, "answers": answers}


class Gateleg:
    """Our own index."""

    def __init__(self, folder: Path) -> None:
        from gateleg.apps.rag.index.embedded import EmbeddedIndex

        self.index = EmbeddedIndex(folder / "own.index")

    def add(self, first: int, vectors: Any, texts: Sequence[str], groups: Sequence[int]) -> None:
        from gateleg.apps.rag.index.entries import IndexEntry

        rows = zip(vectors, texts, groups, strict=True)
        entries = [
            IndexEntry(first + place, text, vector, metadata={"group": int(group)}) for place, (vector, text, group) in enumerate(rows)
        ]
        self.index.add_entries(f"d{first}", 1, entries)

    def finish(self) -> None:
        self.index.settle()
        self.index.close()

    def remove(self, first: int, count: int) -> None:
        self.index.remove(f"d{first}")

    def vector(self, query: Any, below: int | None = None, k: int = K) -> list[int]:
        from gateleg.apps.rag.index.filters import parse_filter

        hits = self.index.search(query, None, parse_filter({"group": {"lt": below}}) if below else None, k)
        return [hit.key.ordinal for hit in hits]

    def hybrid(self, query: Any, text: str, k: int = K) -> list[int]:
        """As `searching.search` does by default: rank, move the query towards the best hits, and rank again."""
        from gateleg.apps.rag.searching.search import FEEDBACK_HITS, FEEDBACK_WEIGHT

        best = self._ranked(query, text, k)[:FEEDBACK_HITS]
        vectors = self.index.vectors(best)
        moved = query + FEEDBACK_WEIGHT * np.mean([vectors[key] for key in best], axis=0) if best else query
        moved = (moved / np.linalg.norm(moved)).astype(np.float32)
        return [key.ordinal for key in self._ranked(moved, text, k)[:k]]

    def _ranked(self, query: Any, text: str, k: int) -> list[Any]:
        from gateleg.apps.rag.searching.fusion import Candidate, rank
        from gateleg.apps.rag.searching.requests import SearchRequest

        hits = self.index.search(query, text, None, max(k, 100))
        ranked = rank([Candidate(0, hit.key, hit.similarity, hit.keyword) for hit in hits], "hybrid", SearchRequest(query=text))
        return [one.candidate.key for one in ranked]

    def keyword(self, text: str, k: int = K) -> list[int]:
        hits = self.index.search(None, text, None, k)
        return [hit.key.ordinal for hit in sorted(hits, key=lambda hit: -(hit.keyword or 0))]


class Chroma:
    """Chroma with its defaults, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.client = import_module("chromadb").PersistentClient(str(folder / "chroma"))
        self.rows = self.client.get_or_create_collection("rows", metadata={"hnsw:space": "cosine"}, embedding_function=None)

    def add(self, first: int, vectors: Any, texts: Sequence[str], groups: Sequence[int]) -> None:
        ids = [str(first + place) for place in range(len(texts))]
        metadata = [{"group": int(group)} for group in groups]
        self.rows.add(ids=ids, embeddings=vectors, documents=list(texts), metadatas=metadata)

    def finish(self) -> None:
        self.rows.count()

    def remove(self, first: int, count: int) -> None:
        self.rows.delete(ids=[str(first + place) for place in range(count)])

    def vector(self, query: Any, below: int | None = None, k: int = K) -> list[int]:
        where = {"group": {"$lt": below}} if below else None
        found = self.rows.query(query_embeddings=[query], n_results=k, where=where, include=[])
        return [int(one) for one in found["ids"][0]]


class Lance:
    """LanceDB with an index of its usual kind (IVF_PQ, refined) and full-text search."""

    def __init__(self, folder: Path) -> None:
        self.database = import_module("lancedb").connect(str(folder / "lance"))
        self.table: Any = self.database.open_table("rows") if (folder / "lance" / "rows.lance").exists() else None

    def add(self, first: int, vectors: Any, texts: Sequence[str], groups: Sequence[int]) -> None:
        rows = zip(vectors, texts, groups, strict=True)
        made = [
            {"id": first + place, "vector": vector, "text": text, "group": int(group)} for place, (vector, text, group) in enumerate(rows)
        ]
        if self.table is None:
            self.table = self.database.create_table("rows", made)
        else:
            self.table.add(made)

    def finish(self) -> None:
        if self.table.count_rows() > 5_000:
            self.table.create_index(metric="cosine", vector_column_name="vector")
            self.table.create_scalar_index("group")
        self.table.create_fts_index("text", replace=True)
        self.table.optimize()

    def remove(self, first: int, count: int) -> None:
        self.table.delete(f"id >= {first} AND id < {first + count}")

    def vector(self, query: Any, below: int | None = None, k: int = K) -> list[int]:
        asked = self.table.search(query).distance_type("cosine").limit(k).nprobes(20).refine_factor(10).select(["id"])
        if below:
            asked = asked.where(f"`group` < {below}", prefilter=True)
        return [row["id"] for row in asked.to_list()]

    def hybrid(self, query: Any, text: str, k: int = K) -> list[int]:
        asked = self.table.search(query_type="hybrid").vector(query).text(_plain(text)).distance_type("cosine").limit(k)
        return [row["id"] for row in asked.to_list()]

    def keyword(self, text: str, k: int = K) -> list[int]:
        return [row["id"] for row in self.table.search(_plain(text), query_type="fts").limit(k).select(["id"]).to_list()]


def _plain(text: str) -> str:
    return "".join(letter if letter.isalnum() else " " for letter in text)


CONTESTANTS: dict[str, Any] = {"gateleg": Gateleg, "chroma": Chroma, "lancedb": Lance}


def fill(name: str, folder: Path) -> None:
    """Fill a store from the inputs, and say how long it took."""
    queries, groups, _ = _inputs(folder)
    shutil.rmtree(folder / name, ignore_errors=True)
    (folder / name).mkdir()
    one = CONTESTANTS[name](folder / name)
    began = time.perf_counter()
    reading = 0.0
    for first, vectors, texts, seconds in _batches(folder, queries.shape[1]):
        reading += seconds
        one.add(first, vectors, texts, groups[first : first + len(texts)])
    added = time.perf_counter() - began - reading
    one.finish()
    _tell({"added": added, "ready": time.perf_counter() - began - reading, "peak": memory("VmHWM")})


def search(name: str, folder: Path) -> None:
    """Open a store that has been filled, say so, and answer what is asked on the standard input, one line each."""
    queries, groups, questions = _inputs(folder)
    before = memory()
    began = time.perf_counter()
    one = CONTESTANTS[name](folder / name)
    one.vector(queries[0])
    _tell({"opened": time.perf_counter() - began})
    for line in sys.stdin:
        way, *times = line.split()
        _tell(_updated(one, len(groups), queries, int(times[0])) if way == "update" else _asked(one, way, queries, questions))
    disk = sum(path.stat().st_size for path in (folder / name).rglob("*") if path.is_file()) / 1e6
    _tell({"memory": memory() - before, "disk": disk})


def quality(name: str, folder: Path) -> None:
    """Open a store that has been filled, and search for all questions."""
    queries, _, questions = _inputs(folder)
    _tell(_quality(CONTESTANTS[name](folder / name), queries, questions))


def _inputs(folder: Path) -> tuple[Any, Any, list[str]]:
    return np.load(folder / "queries.npy"), np.load(folder / "groups.npy"), json.loads((folder / "questions.json").read_text())


def _updated(one: Any, count: int, queries: Any, times: int) -> dict[str, Any]:
    """Add ten chunks like a query and search for it, again and again; they are removed in the end."""

    def add_and_find(number: int) -> list[int]:
        first = count + K * number
        one.add(first, np.repeat(queries[number : number + 1], K, axis=0), ["new"] * K, [0] * K)
        found: list[int] = one.vector(queries[number])
        if set(found) != set(range(first, first + K)):
            raise SystemExit(f"new chunks were not found: {found}")
        return []

    found = timed(add_and_find, times)
    for number in range(times):
        one.remove(count + K * number, K)
    return found


def _batches(folder: Path, dimensions: int) -> Iterator[tuple[int, Any, list[str], float]]:
    """The chunks, a batch at a time: the number of its first one, vectors, texts, and the seconds that reading them took."""
    with (folder / "vectors.f32").open("rb") as vectors, (folder / "texts.jsonl").open() as lines:
        first = 0
        while True:
            began = time.perf_counter()
            texts = [json.loads(line) for line in itertools.islice(lines, BATCH)]
            if not texts:
                return
            part = np.fromfile(vectors, dtype="<f4", count=len(texts) * dimensions).reshape(len(texts), dimensions)
            yield first, part, texts, time.perf_counter() - began
            first += len(texts)


def _tell(found: dict[str, Any]) -> None:
    print(json.dumps(found), flush=True)


def _asked(one: Any, way: str, queries: Any, questions: Sequence[str]) -> dict[str, Any]:
    """A round of queries of one kind: `vector`, `hybrid`, `filter10`; nothing where a store has no such search."""
    if way == "hybrid":
        return timed(lambda number: one.hybrid(queries[number], questions[number]), len(queries)) if hasattr(one, way) else {}
    if way == "vector":
        return timed(lambda number: one.vector(queries[number]), len(queries))
    return timed(partial(_filtered, one, queries, int(way.removeprefix("filter"))), FILTERED)


def _filtered(one: Any, queries: Any, below: int, number: int) -> list[int]:
    found: list[int] = one.vector(queries[number], below)
    return found


def _quality(one: Any, queries: Any, questions: Sequence[str]) -> dict[str, Any]:
    """The first 100 chunks of every question, by each way of searching that there is."""
    deep = 100
    found = {"vector": [one.vector(query, None, deep) for query in queries]}
    if hasattr(one, "hybrid"):
        found["keyword"] = [one.keyword(text, deep) for text in questions]
        found["hybrid"] = [one.hybrid(query, text, deep) for query, text in zip(queries, questions, strict=True)]
    return found


if __name__ == "__main__":
    {"fill": fill, "search": search, "quality": quality}[sys.argv[3]](sys.argv[1], Path(sys.argv[2]))
