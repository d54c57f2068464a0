"""Search indexes beside Chroma and LanceDB, with the same vectors: speed, memory, recall; and, on labelled sets, how good the results are.

    python bench/rag.py                          10,000 and 100,000 chunks
    python bench/rag.py --sizes 1000000          a million
    python bench/rag.py --sizes 1000000 --keep FOLDER --fill
                                                 only fill the stores, in a folder that is kept; those that are there stay
    python bench/rag.py --sizes 1000000 --keep FOLDER
                                                 search what is in the folder; what is missing is filled first
    python bench/rag.py --hurry                  with real-time priority while they search, on a machine that others use
    python bench/rag.py --sets FOLDER            nDCG@10 on the labelled sets in a folder (see labelled.py)

Peers live in environments of their own, `.bench/chroma` and `.bench/lance`, which are made when they are missing. Ratios are peer /
gateleg: above 1, we are ahead. Each store is filled by one process and searched by another, which opens what the first one left. Vectors
are clustered, 384 dimensions; queries are near them. Embedding is not measured: all are given the same vectors.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelled import CLASSIC, Labelled, read_set

HOME = Path(__file__).parents[1] / ".bench"
SCRIPT = Path(__file__).with_name("rag_contestants.py")
PEERS = {"chroma": ("chroma", "chromadb"), "lancedb": ("lance", "lancedb")}
DIMENSIONS, CLUSTERS, QUERIES, ROUNDS = 384, 500, 300, 3
#: Words of a made-up text, and chunks that are made or compared at a time.
WORDS, PART = 60, 20_000
WAYS = ("vector", "filter1", "filter10", "filter50", "hybrid")
#: How often each store is given new chunks, with a search after each time.
UPDATES = 20


def interpreter(name: str) -> str:
    """The Python that has a contestant; its environment is made if it is missing."""
    if name not in PEERS:
        return sys.executable
    folder, package = PEERS[name]
    python = HOME / folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(HOME / folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", package, "numpy"], check=True)
    return str(python)


def fill(name: str, folder: Path) -> dict[str, Any]:
    """Fill a store with the inputs of a folder, unless it has been; how long it took, and the most memory that it needed."""
    figures = folder / f"{name}.json"
    if not figures.exists():
        with (folder / f"{name}.log").open("w+") as errors:
            command = [interpreter(name), str(SCRIPT), name, str(folder), "fill"]
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, text=True, check=False)
            if done.returncode:
                errors.seek(0)
                raise SystemExit(f"{name} failed:\n{errors.read()[-2000:]}")
        figures.write_text(next(line for line in done.stdout.splitlines() if line.startswith("{")))
    filled: dict[str, Any] = json.loads(figures.read_text())
    print(f"  {name} is filled: {filled['ready']:,.0f} s, at most {filled['peak']:,.0f} MB of memory", flush=True)
    return filled


class Contestant:
    """A store in a process of its own, which has opened what was filled and waits for questions."""

    def __init__(self, name: str, folder: Path, what: str = "search") -> None:
        self.name = name
        command = [interpreter(name), str(SCRIPT), name, str(folder), what]
        self.errors = (folder / f"{name}-{what}.log").open("w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        # Wait for it, so that no two are opened at the same time.
        self.opened = self.answer()

    def ask(self, way: str) -> dict[str, Any]:
        """What it answers to a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{way}\n")
        self.process.stdin.flush()
        return self.answer()

    def answer(self) -> dict[str, Any]:
        """Its next line; some stores print other things, too."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
        self.errors.seek(0)
        raise SystemExit(f"{self.name} failed:\n{self.errors.read()[-2000:]}")

    def close(self) -> dict[str, Any]:
        """What it has taken, in the end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        found = self.answer()
        self.process.wait()
        return found

    def hurry(self) -> None:
        """Let nothing else on this machine run before it."""
        subprocess.run(["chrt", "-a", "-f", "-p", "10", str(self.process.pid)], check=True)


def write_inputs(
    folder: Path,
    chunks: Iterable[tuple[NDArray[np.float32], list[str]]],
    groups: NDArray[Any],
    queries: NDArray[Any],
    questions: list[str],
) -> None:
    """The files that contestants read. Vectors and texts are written part by part: a million of them need not fit into memory."""
    with (folder / "vectors.f32").open("wb") as vectors, (folder / "texts.jsonl").open("w") as lines:
        for part, texts in chunks:
            np.ascontiguousarray(part, dtype="<f4").tofile(vectors)
            lines.writelines(f"{json.dumps(text)}\n" for text in texts)
    np.save(folder / "groups.npy", groups)
    np.save(folder / "queries.npy", queries)
    (folder / "questions.json").write_text(json.dumps(questions))


def clustered(count: int, centres: NDArray[np.float32], rng: np.random.Generator) -> Iterator[tuple[NDArray[np.float32], list[str]]]:
    """Vectors around centres, with texts whose words are as frequent as in real ones: few that are everywhere, many that are rare."""
    for first in range(0, count, PART):
        size = min(PART, count - first)
        cluster = rng.integers(0, len(centres), size)
        vectors = centres[cluster] + 0.6 * rng.normal(size=(size, DIMENSIONS)).astype(np.float32)
        words = _words(rng, (size, WORDS))
        yield _unit(vectors), [" ".join([*(f"w{word}" for word in row), f"topic{own}"]) for row, own in zip(words, cluster, strict=True)]


def _words(rng: np.random.Generator, shape: tuple[int, int]) -> NDArray[np.int64]:
    return np.asarray(np.minimum(rng.zipf(1.2, shape), 200_000), dtype=np.int64)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


def speed(count: int, names: list[str], keep: Path | None, *, only_fill: bool, hurry: bool) -> None:
    print(f"\n{count:,} chunks, {QUERIES} queries, k=10; milliseconds, one query at a time, the quietest of {ROUNDS} rounds", flush=True)
    with _home(keep, count) as folder:
        if not (folder / "truths.json").exists():
            _write_clusters(folder, count)
        filled = {name: fill(name, folder) for name in names}
        if not only_fill:
            results = _measured([Contestant(name, folder) for name in names], hurry)
            truths = {way: [set(truth) for truth in found] for way, found in json.loads((folder / "truths.json").read_text()).items()}
            _print_speed(count, {name: filled[name] | results[name] for name in names}, truths)


@contextlib.contextmanager
def _home(keep: Path | None, count: int) -> Iterator[Path]:
    """The folder of the inputs and the stores: one that is kept, or one that is removed in the end."""
    if keep is None:
        with tempfile.TemporaryDirectory(dir=HOME) as made:
            yield Path(made)
    else:
        (folder := keep / str(count)).mkdir(parents=True, exist_ok=True)
        yield folder


def _write_clusters(folder: Path, count: int) -> None:
    """The inputs of a speed test, and the right answers. The same each time."""
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(CLUSTERS, DIMENSIONS)).astype(np.float32)
    groups = rng.integers(0, 100, count)
    chosen = rng.integers(0, CLUSTERS, QUERIES)
    queries = _unit(centres[chosen] + 0.6 * rng.normal(size=(QUERIES, DIMENSIONS)).astype(np.float32))
    asked = _words(rng, (QUERIES, 5))
    questions = [" ".join([f"topic{topic}", *(f"w{word}" for word in words)]) for topic, words in zip(chosen, asked, strict=True)]
    write_inputs(folder, clustered(count, centres, rng), groups, queries, questions)
    filters = {"vector": None} | {f"filter{part}": groups < part for part in (1, 10, 50)}
    truths = {way: _truth(folder / "vectors.f32", queries, passing) for way, passing in filters.items()}
    (folder / "truths.json").write_text(json.dumps(truths))


def _measured(contestants: list[Contestant], hurry: bool) -> dict[str, dict[str, Any]]:
    """Each round asks one after the other, so that what disturbs one disturbs all; the first round is for warming up."""
    results: dict[str, dict[str, Any]] = {one.name: dict(one.opened) for one in contestants}
    for one in contestants if hurry else ():
        one.hurry()
    for way in WAYS:
        rounds = [{one.name: one.ask(way) for one in contestants} for _ in range(ROUNDS + 1)]
        for one in contestants:
            if rounds[0][one.name]:
                warm = [found[one.name] for found in rounds[1:]]
                best = min(warm, key=lambda found: float(found["p95"]))
                results[one.name][way] = {**best, "first": rounds[0][one.name]["p95"], "cpu": min(found["cpu"] for found in warm)}
    for one in contestants:
        results[one.name]["update"] = one.ask(f"update {UPDATES}")
    for one in contestants:
        results[one.name] |= one.close()
    return results


def _truth(path: Path, queries: NDArray[np.float32], passing: NDArray[np.bool_] | None) -> list[list[int]]:
    """The ten nearest of the vectors that pass, all compared, for each query."""
    best = np.full((len(queries), 10), -np.inf, dtype=np.float32)
    places = np.full((len(queries), 10), -1, dtype=np.int64)
    vectors = np.memmap(path, dtype="<f4", mode="r").reshape(-1, DIMENSIONS)
    for first in range(0, len(vectors), PART):
        own = np.arange(first, min(first + PART, len(vectors)))
        own = own if passing is None else own[passing[own]]
        scores = np.concatenate([best, queries @ vectors[own].T], axis=1)
        together = np.concatenate([places, np.broadcast_to(own, (len(queries), len(own)))], axis=1)
        kept = np.argpartition(-scores, 9, axis=1)[:, :10]
        best, places = np.take_along_axis(scores, kept, axis=1), np.take_along_axis(together, kept, axis=1)
    return [[place for place in row if place >= 0] for row in places.tolist()]


def _print_speed(count: int, results: dict[str, dict[str, Any]], truths: dict[str, list[set[int]]]) -> None:
    ours = results["gateleg"]
    for name, found in results.items():
        print(
            f"  {name:8} adds {count / found['added']:8,.0f} chunks/s ({count / found['ready']:,.0f}/s until indexed), "
            f"memory {found['memory']:6.0f} MB ({found['peak']:.0f} while filling), disk {found['disk']:6.0f} MB"
        )
        print(f"  {'':8} opened and first searched in {found['opened']:.2f} s; ten chunks added and found: {_times(found['update'])}")
    for way in WAYS:
        for name, found in results.items():
            if way not in found:
                continue
            one = found[way]
            recall = ""
            if way in truths:
                pairs = list(zip(one["answers"], truths[way], strict=False))
                recall = f"recall@10 {np.mean([len(set(answer) & truth) / len(truth) for answer, truth in pairs]):.4f}"
            beside = {figure: one[figure] / ours[way][figure] for figure in ("p95", "cpu")}
            ratio = "" if name == "gateleg" else f"ratios {beside['p95']:5.1f} (p95), {beside['cpu']:5.1f} (processor)"
            print(f"  {way:9} {name:8} {_times(one)} (first round {one['first']:7.2f})  processor {one['cpu']:6.2f}  {recall:17} {ratio}")


def _times(found: dict[str, Any]) -> str:
    return f"p50 {found['p50']:7.2f}  p95 {found['p95']:7.2f}"


def quality(folder: Path, names: list[str]) -> None:
    """nDCG@10 on labelled sets; the weights of hybrid were tuned on the first one alone."""
    print(f"\nnDCG@10, documents ranked by their best chunk; tuned on {names[0]}, the others were left out")
    print(f"  {'':18}" + "".join(f"{name:>8}" for name in names))
    table: dict[tuple[str, str], list[float]] = {}
    for name in names:
        labelled = read_set(folder, name)
        for contestant, found in _searched(labelled).items():
            for way in ("vector", "keyword", "hybrid"):
                if way in found:
                    table.setdefault((contestant, way), []).append(_ndcg(labelled, found[way]))
    for (contestant, way), scores in table.items():
        print(f"  {contestant:9}{way:9}" + "".join(f"{score:8.4f}" for score in scores) + f"   mean {np.mean(scores):.4f}")


def _searched(labelled: Labelled) -> dict[str, dict[str, Any]]:
    texts = [text for _, text in labelled.chunks()]
    vectors, queries = _embedded(labelled.name, texts, list(labelled.queries.values()))
    with tempfile.TemporaryDirectory(dir=HOME) as made:
        write_inputs(Path(made), [(vectors, texts)], np.zeros(len(texts), dtype=np.int64), queries, list(labelled.queries.values()))
        for name in (names := ("gateleg", *PEERS)):
            fill(name, Path(made))
        return {name: Contestant(name, Path(made), "quality").opened for name in names}


def _embedded(name: str, texts: list[str], questions: list[str]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Vectors of the local model, kept from one run to the next: embedding takes minutes."""
    from gateleg.ai import Models

    kept = HOME / "rag-vectors" / f"{name}-{len(texts)}.npz"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with Models() as models:
            model = models.embeddings()
            np.savez(kept, v=model.embed(texts), q=model.embed(questions, purpose="query"))
    with np.load(kept) as found:
        return found["v"], found["q"]


def _ndcg(labelled: Labelled, rankings: list[list[int]]) -> float:
    from gateleg.apps.rag.evaluating.measures import mean, measure

    documents = [document for document, _ in labelled.chunks()]
    rows = zip(labelled.queries, rankings, strict=True)
    return mean(measure([documents[place] for place in ranking], labelled.relevant[query], 10) for query, ranking in rows).ndcg


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=[10_000, 100_000])
    parser.add_argument("--sets", type=Path, help="a folder with labelled sets")
    parser.add_argument("--names", nargs="*", default=list(CLASSIC))
    parser.add_argument("--stores", nargs="*", default=["gateleg", *PEERS], help="which stores to measure")
    parser.add_argument("--keep", type=Path, help="a folder for the inputs and the stores, which are used again; one for each size")
    parser.add_argument("--fill", action="store_true", help="only fill the stores in the folder of --keep")
    parser.add_argument("--hurry", action="store_true", help="let them search with real-time priority, on a machine that others use")
    options = parser.parse_args()
    if options.fill and options.keep is None:
        parser.error("--fill needs --keep FOLDER: what it fills is removed otherwise")
    HOME.mkdir(exist_ok=True)
    if options.sets is not None:
        quality(options.sets, options.names)
        return
    for size in options.sizes:
        speed(size, options.stores, options.keep, only_fill=options.fill, hurry=options.hurry)


if __name__ == "__main__":
    main()
