"""Topics of comments beside umap-learn + EVoC on the same vectors: seconds of processor time, and how much of what was planted is found.

    .venv/bin/python bench/topics.py            planted vectors of several sizes; EVoC only where it is installed (pip install evoc)
    .venv/bin/python bench/topics.py FOLDER     the conversations in the folders of a folder: how coherent each layer is beside k-means

Coherence is the mean cosine of comments of one topic less that of comments of different topics. K-means gets the same vectors and makes as
many topics: the division with the smallest error of ten beginnings, and beside it the most coherent of forty beginnings. The beginnings are
not those that the layers are chosen by.

Each side gets the same vectors. Ours finds nested layers from the neighbour graph and lays comments out with UMAP; the peer lays them out
with UMAP and clusters with EVoC. Agreement is the adjusted Rand index of the best layer with what was planted; `left out` is the share of
comments that no layer's cluster holds. The first call of each side compiles and is not counted.
"""

import importlib
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans  # type: ignore[import-untyped]

from gateleg.ai import Models
from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.conversations.exports import read_export
from gateleg.apps.delphi.topics.coherence import coherence
from gateleg.apps.delphi.topics.comment_map import project
from gateleg.apps.delphi.topics.layers import find_layers
from gateleg.apps.delphi.topics.stage import analyse_comments

SIZES = ((6, 120), (12, 400), (30, 1_500))


def planted(topics: int, comments: int, seed: int = 1) -> tuple[Any, Any]:
    """Vectors around the middles of topics, about as far apart as sentences of one topic are, and the topic of each."""
    random = np.random.default_rng(seed)
    middles = random.normal(size=(topics, 384))
    middles /= np.linalg.norm(middles, axis=1, keepdims=True)
    topic_of = random.permutation(np.arange(comments) % topics)
    return (middles[topic_of] + 0.06 * random.normal(size=(comments, 384))).astype(np.float32), topic_of


def ours(vectors: Any) -> list[Any]:
    project(vectors)
    return [layer.labels for layer in find_layers(vectors).layers]


def peer() -> Callable[[Any], list[Any]] | None:
    try:
        evoc, umap = importlib.import_module("evoc"), importlib.import_module("umap")
    except ImportError:
        return None

    def run(vectors: Any) -> list[Any]:
        umap.UMAP(n_components=2, metric="cosine", random_state=42, n_jobs=1).fit_transform(vectors)
        model = evoc.EVoC(min_samples=5)
        model.fit_predict(vectors)
        return list(model.cluster_layers_)

    return run


def measure(run: Callable[[Any], list[Any]], vectors: Any, topic_of: Any) -> tuple[float, float, float]:
    begun = time.process_time()
    layers = run(vectors)
    taken = time.process_time() - begun
    found = max((agreement(topic_of, labels) for labels in layers), default=0.0)
    left_out = float(np.mean(np.all([labels < 0 for labels in layers], axis=0))) if layers else 1.0
    return taken, found, left_out


def beside_k_means(folder: Path) -> None:
    """Print how coherent the layers of each conversation are, the coarsest first."""
    print(f"{'conversation':<28} {'comments':>9} {'topics':>7} {'coherence':>10} {'k-means':>8} {'its best':>9}")
    with Models() as models:
        for place in sorted(path for path in folder.iterdir() if (path / "votes.csv").is_file()):
            read = read_export(place / "votes.csv", place / "comments.csv")
            found = analyse_comments(read.comments, models.embeddings(), votes=read.counted_votes)
            for layer in reversed(found.layers.layers):
                inside = (layer.labels >= 0) & (np.linalg.norm(found.vectors, axis=1) > 0)
                vectors, labels = found.vectors[inside].astype(np.float64), layer.labels[inside]
                unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
                count = int(labels.max()) + 1
                usual = coherence(unit, KMeans(count, n_init=10, random_state=1_000).fit(unit).labels_)
                tried = [KMeans(count, n_init=1, random_state=seed).fit(unit).labels_ for seed in range(1_000, 1_040)]
                best = max(coherence(unit, labels) for labels in tried)
                figures = f"{coherence(unit, labels):>10.3f} {usual:>8.3f} {best:>9.3f}"
                print(f"{place.name:<28} {len(labels):>9,} {count:>7} {figures}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:]:
        beside_k_means(Path(sys.argv[1]))
        return
    beside = peer()
    sides = {"gateleg": ours} | ({"umap-learn + EVoC": beside} if beside else {})
    for run in sides.values():
        run(planted(3, 60)[0])
    print(f"{'comments':>9} {'topics':>7}  {'':<18} {'cpu s':>8} {'agreement':>10} {'left out':>9}")
    for topics, comments in SIZES:
        vectors, topic_of = planted(topics, comments)
        times = {}
        for name, run in sides.items():
            times[name], found, left_out = measure(run, vectors, topic_of)
            print(f"{comments:>9,} {topics:>7}  {name:<18} {times[name]:>8.2f} {found:>10.3f} {left_out:>9.1%}")
        if beside:
            print(f"{'':>17}  ratio of times: {times['gateleg'] / max(times['umap-learn + EVoC'], 1e-9):.2f}")
    if not beside:
        print("EVoC is not installed, so there is nothing beside it.")


if __name__ == "__main__":
    main()
