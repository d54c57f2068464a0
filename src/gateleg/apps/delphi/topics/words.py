"""Vectors from the words that comments share: what topics are found with where the embedding model does not know the language."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]

from gateleg.apps.delphi.topics.keywords import tokens
from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gateleg.ai import Embeddings

#: What the vectors are said to come from.
WORDS = "words"
#: A model that knows fewer of the words whole does not know the language: English has 0.9 and more, German and French 0.2 to 0.5.
LEAST_KNOWN = 0.6
_DIMENSIONS = 64
_BEGINNING = 5
_LOCAL = "local:minilm"
_UNKNOWN = 100


def known_share(embeddings: Embeddings, texts: Sequence[str]) -> float | None:
    """The share of words that the local model knows whole; None for other models, which do not tell, and for texts without words."""
    words = [token.word for text in texts for clause in tokens(text) for token in clause]
    if embeddings.model != _LOCAL or not words:
        return None
    from gateleg.ai.minilm.model import minilm

    pieces = minilm().tokens(words)
    # A word that is known whole is one token between the marks of beginning and end.
    return sum(len(ids) == 3 and _UNKNOWN not in ids for ids in pieces) / len(words)


def word_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """A vector of length 1 for each text, near for texts that share rare words; texts without a word that another has share one.

    Texts that say nothing have zeros.
    """
    tokenized = [_features(text) for text in texts]
    times: dict[str, int] = {}
    for words in tokenized:
        for word in words:
            times[word] = times.get(word, 0) + 1
    # What nearly everybody says, and what only one says, joins nothing.
    place_of = {word: place for place, word in enumerate(sorted(word for word, count in times.items() if 1 < count <= len(texts) / 3))}
    cells = [
        (row, place_of[word], np.log(len(texts) / times[word]))
        for row, words in enumerate(tokenized)
        for word in sorted(words)
        if word in place_of
    ]
    vectors = np.zeros((len(texts), _DIMENSIONS + 1), dtype=np.float32)
    if cells:
        vectors[:, :-1] = _reduced(cells, (len(texts), len(place_of)))
    alone = np.array([bool(text.strip()) for text in texts], dtype=np.bool_) & ~vectors.any(axis=1)
    vectors[alone, -1] = 1.0
    return vectors


def _features(text: str) -> set[str]:
    """The words of a text, and the beginnings of long ones: "Wohnung" and "Wohnbau" are about the same thing."""
    words = {token.word for clause in tokens(text) for token in clause}
    return words | {f"{word[:_BEGINNING]}-" for word in words if len(word) > _BEGINNING}


def _reduced(cells: list[tuple[int, int, float]], shape: tuple[int, int]) -> NDArray[np.float32]:
    """The main directions of a sparse matrix of words, each row of length 1."""
    rows, columns, values = zip(*cells, strict=True)
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=shape).toarray()
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    with one_blas_thread():
        left, strength, right = np.linalg.svd(matrix / np.where(lengths == 0, 1.0, lengths), full_matrices=False)
    signs = np.sign(right[np.arange(len(right)), np.abs(right).round(9).argmax(axis=1)])
    found = (left * strength * np.where(signs == 0, 1.0, signs))[:, :_DIMENSIONS]
    sizes = np.linalg.norm(found, axis=1, keepdims=True)
    vectors = np.zeros((shape[0], _DIMENSIONS), dtype=np.float32)
    vectors[:, : found.shape[1]] = np.where(sizes > 1e-9, found / np.where(sizes > 1e-9, sizes, 1.0), 0.0).round(6)
    return vectors
