"""How long a text is for models whose tokenizer is not here."""

from __future__ import annotations

import math

from gateleg.ai.replies import TokenCount

__all__ = ["estimate"]

#: Bytes of UTF-8 for each token, as a rule of thumb for today's vocabularies; on the careful side for other scripts and for code.
_BYTES = 3.6


def estimate(text: str) -> TokenCount:
    """A careful guess."""
    return TokenCount(math.ceil(len(text.encode("utf-8", "replace")) / _BYTES), exact=False)
