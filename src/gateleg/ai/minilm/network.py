"""The network of all-MiniLM-L6-v2: a transformer of six layers and mean pooling, in numpy.

Sentences are not padded: the tokens of a batch are rows of one matrix, which every dense layer multiplies as a whole. Only attention needs
sentence boundaries; it processes sentences of the same length together. A sentence's vector does not depend on the other sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Matrix = NDArray[np.float32]

HEADS = 12
_LAYERS = 6
_EPSILON = np.float32(1e-12)
#: Block sizes that keep the work in the processor's cache: rows of the wide layers, of their activation and of a normalisation, and
#: attention scores.
_ROWS = 512
_FEW = 32
_SOME = 128
_SCORES = 1 << 18
#: Scores this far below the largest of their head still have exact exponentials.
_DEEP = 60.0
#: gelu(x) = x/2 * (1 + erf(x/sqrt 2)), with erf(x/sqrt 2) approximated as tanh(x * P(x*x)). The error is at most 3.4e-6 everywhere.
_GELU = tuple(
    np.float32(c)
    for c in (1.1190877955301434e-06, -3.058109946141737e-05, -0.00012486119050731019, 0.036468790331180084, 0.7978281361088756)
)


@dataclass(frozen=True, slots=True)
class Norm:
    """Scale and shift of a layer normalisation."""

    scale: Matrix
    shift: Matrix


@dataclass(frozen=True, slots=True)
class Dense:
    """A dense layer: weights (inputs by outputs) and bias."""

    weight: Matrix
    bias: Matrix


@dataclass(frozen=True, slots=True)
class Layer:
    """A transformer layer: attention, then the wide layer, each followed by a normalisation."""

    #: queries, keys and values in one matrix; the queries are already scaled, and only they have a bias
    attention: Dense
    merged: Dense
    after_attention: Norm
    widened: Dense
    #: its weights are halved, because the activation is doubled
    narrowed: Dense
    after_width: Norm


@dataclass(frozen=True, slots=True)
class Network:
    """The weights, in the layout in which they are used."""

    words: Matrix
    #: position embeddings, with the embedding of the only token type added
    positions: Matrix
    first: Norm
    layers: tuple[Layer, ...]

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return int(self.words.shape[1])

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> Network:
        """Load the tensors of the published file."""
        positions = tensors["embeddings.position_embeddings.weight"] + tensors["embeddings.token_type_embeddings.weight"][0]
        return cls(
            words=_laid(tensors["embeddings.word_embeddings.weight"]),
            positions=_laid(positions),
            first=_norm(tensors, "embeddings.LayerNorm"),
            layers=tuple(_layer(tensors, f"encoder.layer.{number}") for number in range(_LAYERS)),
        )

    def embed(self, sentences: Sequence[Sequence[int]]) -> Matrix:
        """The unit vectors of sentences, given as token ids ordered by length."""
        lengths = np.array([len(sentence) for sentence in sentences])
        starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
        rows = self._rows(np.concatenate([np.asarray(sentence) for sentence in sentences]), lengths, starts)
        groups = list(_groups(lengths))
        buffers = _Buffers(len(rows), self.dimensions, self.layers[0].widened.weight.shape[1])
        for layer in self.layers:
            _attend(layer, rows, groups, buffers)
            _widen(layer, rows, buffers)
        means = np.add.reduceat(rows, starts, axis=0) / lengths[:, None].astype(np.float32)
        vectors: Matrix = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), _EPSILON)
        return vectors

    def _rows(self, tokens: NDArray[Any], lengths: NDArray[Any], starts: NDArray[Any]) -> Matrix:
        places = np.arange(len(tokens)) - np.repeat(starts, lengths)
        rows: Matrix = self.words[tokens]
        rows += self.positions[places]
        _normalise(self.first, rows)
        return rows


def _groups(lengths: NDArray[Any]) -> Iterator[tuple[slice, int]]:
    """The rows of consecutive sentences of the same length, and that length."""
    row = 0
    for length, count in zip(*np.unique(lengths, return_counts=True), strict=True):
        yield slice(row, row + int(length) * int(count)), int(length)
        row += int(length) * int(count)


class _Buffers:
    """Reused memory for intermediate results: allocating it costs more than some of the computations."""

    def __init__(self, rows: int, width: int, wide: int) -> None:
        self.asked = np.empty((rows, 3 * width), dtype=np.float32)
        self.seen = np.empty((rows, width), dtype=np.float32)
        self.narrow = np.empty((rows, width), dtype=np.float32)
        self.wide = np.empty((min(rows, _ROWS + 1), wide), dtype=np.float32)
        self.square = np.empty((_FEW, wide), dtype=np.float32)
        self.bent = np.empty((_FEW, wide), dtype=np.float32)


def _attend(layer: Layer, rows: Matrix, groups: list[tuple[slice, int]], buffers: _Buffers) -> None:
    asked = np.matmul(rows, layer.attention.weight, out=buffers.asked)
    asked[:, : rows.shape[1]] += layer.attention.bias
    size = rows.shape[1] // HEADS
    for part, length in groups:
        # sentence, position, (query, key or value), head, component
        split = asked[part].reshape(-1, length, 3, HEADS, size)
        seen = buffers.seen[part].reshape(-1, length, HEADS, size)
        step = max(1, _SCORES // (HEADS * length * length))
        for start in range(0, len(split), step):
            queries, keys, values = (split[start : start + step, :, which].transpose(0, 2, 1, 3) for which in range(3))
            scores = queries @ keys.transpose(0, 1, 3, 2)
            sums = exponentiate(scores)
            looked = scores @ values
            looked /= sums
            seen[start : start + step] = looked.transpose(0, 2, 1, 3)
    rows += np.matmul(buffers.seen, layer.merged.weight, out=buffers.narrow)
    rows += layer.merged.bias
    _normalise(layer.after_attention, rows)


def exponentiate(scores: Matrix) -> Matrix:
    """Replace scores by their exponentials in place, and return the sums that the last axis must be divided by.

    The maximum of each head is subtracted first, which is found much faster than the maximum of each row. Where the scores of a head are so
    far apart that a row could vanish, the maximum of the row is used.
    """
    largest, smallest = (bound(scores, axis=(-2, -1), keepdims=True) for bound in (np.max, np.min))
    scores -= largest if float((largest - smallest).max()) < _DEEP else scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    return np.asarray(np.einsum("...j->...", scores)[..., None])


def _widen(layer: Layer, rows: Matrix, buffers: _Buffers) -> None:
    # A single row would be multiplied by another routine, which rounds differently; a sentence has two rows or more.
    edges = [*range(0, len(rows) - 1, _ROWS), len(rows)]
    if len(edges) > 2 and edges[-1] - edges[-2] < 2:
        del edges[-2]
    for start, end in pairwise(edges):
        block = rows[start:end]
        wide = np.matmul(block, layer.widened.weight, out=buffers.wide[: end - start])
        for few in range(0, len(wide), _FEW):
            _activate(wide[few : few + _FEW], layer.widened.bias, buffers)
        block += np.matmul(wide, layer.narrowed.weight, out=buffers.narrow[: end - start])
        block += layer.narrowed.bias
        _normalise(layer.after_width, block)


def _activate(wide: Matrix, bias: Matrix, buffers: _Buffers) -> None:
    """Twice the GELU of every element plus its bias; the next layer's weights are halved."""
    square, bent = buffers.square[: len(wide)], buffers.bent[: len(wide)]
    wide += bias
    np.multiply(wide, wide, out=square)
    np.multiply(square, _GELU[0], out=bent)
    for factor in _GELU[1:-1]:
        bent += factor
        bent *= square
    bent += _GELU[-1]
    bent *= wide
    np.tanh(bent, out=bent)
    bent += np.float32(1)
    wide *= bent


def _normalise(norm: Norm, rows: Matrix) -> None:
    width = np.float32(rows.shape[1])
    for start in range(0, len(rows), _SOME):
        block = rows[start : start + _SOME]
        block -= block.mean(axis=1, keepdims=True)
        spread = np.einsum("ij,ij->i", block, block)[:, None]
        block *= 1 / np.sqrt(spread / width + _EPSILON)
        block *= norm.scale
        block += norm.shift


def _layer(tensors: Mapping[str, NDArray[Any]], prefix: str) -> Layer:
    width = tensors[f"{prefix}.attention.self.query.weight"].shape[0]
    scale = np.float32((width // HEADS) ** -0.5)
    parts = [_dense(tensors, f"{prefix}.attention.self.{name}") for name in ("query", "key", "value")]
    parts[0] = Dense(parts[0].weight * scale, parts[0].bias * scale)
    merged = _dense(tensors, f"{prefix}.attention.output.dense")
    narrowed = _dense(tensors, f"{prefix}.output.dense")
    # A bias of the keys changes all scores of a query equally, which softmax cancels. A bias of the values passes through attention
    # unchanged, because its weights sum to 1.
    passed = parts[2].bias.astype(np.float64) @ merged.weight.astype(np.float64)
    return Layer(
        attention=Dense(_laid(np.hstack([part.weight for part in parts])), parts[0].bias),
        merged=Dense(merged.weight, (merged.bias + passed).astype(np.float32)),
        after_attention=_norm(tensors, f"{prefix}.attention.output.LayerNorm"),
        widened=_dense(tensors, f"{prefix}.intermediate.dense"),
        narrowed=Dense(narrowed.weight * np.float32(0.5), narrowed.bias),
        after_width=_norm(tensors, f"{prefix}.output.LayerNorm"),
    )


def _dense(tensors: Mapping[str, NDArray[Any]], name: str) -> Dense:
    return Dense(_laid(tensors[f"{name}.weight"].T), tensors[f"{name}.bias"])


def _norm(tensors: Mapping[str, NDArray[Any]], name: str) -> Norm:
    return Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _laid(tensor: NDArray[Any]) -> Matrix:
    return np.ascontiguousarray(tensor, dtype=np.float32)
