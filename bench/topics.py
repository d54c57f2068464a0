"""Topics of comments beside umap-learn + EVoC on the same vectors: seconds of processor time, and how much of what was planted is found.

    .venv/bin/python bench/topics.py            planted vectors of several sizes; EVoC only where it is installed (pip install evoc)

Each side gets the same vectors. Ours finds nested layers from the neighbour graph and lays comments out with UMAP; the peer lays them out
with UMAP and clusters with EVoC. Agreement is the adjusted Rand index of the best layer with what was planted; `left out` is the share of
comments that no layer's cluster holds. The first call of each side compiles and is not counted.
"""

import importlib
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from gateleg.apps.delphi.agreement import agreement
from gateleg.apps.delphi.topics.layering import find_layers
from gateleg.apps.delphi.topics.projecting import project

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


def main() -> None:
    warnings.simplefilter("ignore")
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
