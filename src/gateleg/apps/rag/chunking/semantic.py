"""Semantic chunking: start a new chunk where the embeddings of neighbouring sentences differ. Pure, except for the embedding function."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

Range = tuple[int, int]
#: Embeds texts: one unit vector per row.
Embed = Callable[[Sequence[str]], Any]
#: Number of sentences on either side of a boundary whose vectors are averaged.
_SIDE = 2
#: Number of texts to embed at a time.
_BATCH = 256


def semantic(text: str, parts: Sequence[Range], size: int, threshold: float, embed: Embed) -> Iterator[Range]:
    """Pack sentences into chunks of at most `size` characters. A chunk also ends where the similarity is below `threshold`."""
    if not parts:
        return
    scores = similarities([text[start:end] for start, end in parts], embed)
    first = 0
    for place in range(1, len(parts)):
        full = parts[place][1] - parts[first][0] > size
        if full or scores[place - 1] < threshold:
            yield parts[first][0], parts[place - 1][1]
            first = place
    yield parts[first][0], parts[-1][1]


def similarities(texts: Sequence[str], embed: Embed) -> list[float]:
    """The similarity across each boundary between sentences, from the mean vectors of a few sentences on either side."""
    import numpy as np

    if len(texts) < 2:
        return []
    rows = np.concatenate([np.asarray(embed(texts[start : start + _BATCH])) for start in range(0, len(texts), _BATCH)])
    found = []
    for place in range(1, len(texts)):
        before = rows[max(0, place - _SIDE) : place].mean(axis=0)
        behind = rows[place : place + _SIDE].mean(axis=0)
        lengths = float(np.linalg.norm(before) * np.linalg.norm(behind))
        found.append(float(before @ behind) / lengths if lengths else 0.0)
    return found
