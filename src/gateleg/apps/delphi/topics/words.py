"""TF-IDF vectors of comments, used to find topics if the embedding model does not know the language."""

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

#: The name of these vectors, in place of that of a model.
WORDS = "words"
#: A model knows the language if it has this share of the words in its vocabulary. The local one has 0.9 in English, 0.2 to 0.5 in German.
LEAST_KNOWN = 0.6
_DIMENSIONS = 64
_BEGINNING = 5
_LOCAL = "local:minilm"
_UNKNOWN = 100


def known_share(embeddings: Embeddings, texts: Sequence[str]) -> float | None:
    """The share of words in the local model's vocabulary; None for other models and for texts without words."""
    words = [token.word for text in texts for clause in tokens(text) for token in clause]
    if embeddings.model != _LOCAL or not words:
        return None
    from gateleg.ai.minilm import minilm

    pieces = minilm().tokens(words)
    # A word in the vocabulary is one token between the start and end tokens.
    return sum(len(ids) == 3 and _UNKNOWN not in ids for ids in pieces) / len(words)


def word_vectors(texts: Sequence[str]) -> NDArray[np.float32]:
    """A vector of length 1 for each text, similar for texts that share rare words. Texts without shared words have the same vector.

    Empty texts have zeros.
    """
    features = [_features(text) for text in texts]
    times: dict[str, int] = {}
    for words in features:
        for word in words:
            times[word] = times.get(word, 0) + 1
    # Very frequent words, and words of only one text, carry no information about similarity.
    place_of = {word: place for place, word in enumerate(sorted(word for word, count in times.items() if 1 < count <= len(texts) / 3))}
    cells = [
        (row, place_of[word], np.log(len(texts) / times[word]))
        for row, words in enumerate(features)
        for word in sorted(words)
        if word in place_of
    ]
    vectors = np.zeros((len(texts), _DIMENSIONS + 1), dtype=np.float32)
    if cells:
        vectors[:, :-1] = _reduce(cells, (len(texts), len(place_of)))
    alone = np.array([bool(text.strip()) for text in texts], dtype=np.bool_) & ~vectors.any(axis=1)
    vectors[alone, -1] = 1.0
    return vectors


def _features(text: str) -> set[str]:
    """The words of a text, and the prefixes of long ones: "Wohnung" and "Wohnbau" are related."""
    words = {token.word for clause in tokens(text) for token in clause}
    return words | {f"{word[:_BEGINNING]}-" for word in words if len(word) > _BEGINNING}


def _reduce(cells: list[tuple[int, int, float]], shape: tuple[int, int]) -> NDArray[np.float32]:
    """Reduce the dimensions of a sparse word matrix with an SVD, and normalize the rows to length 1."""
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
