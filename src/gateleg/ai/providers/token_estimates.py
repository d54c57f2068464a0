"""Token estimates for models whose tokenizer is not available."""

from __future__ import annotations

import math

from gateleg.ai.replies import TokenCount

__all__ = ["estimate"]

#: Bytes of UTF-8 per token, a rule of thumb for current vocabularies; an overestimate for other scripts and for code.
_BYTES = 3.6


def estimate(text: str) -> TokenCount:
    """A conservative estimate."""
    return TokenCount(math.ceil(len(text.encode("utf-8", "replace")) / _BYTES), exact=False)
