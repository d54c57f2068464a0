"""`local:minilm`: embeddings in this process."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gateleg.ai.minilm.model import DIMENSIONS, MAX_TOKENS, MiniLM, minilm
from gateleg.ai.minilm.parallel import core_count
from gateleg.ai.providers.protocol import Embedded
from gateleg.ai.replies import TokenCount, Usage
from gateleg.ai.steps import Offload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai.chat_requests import Purpose
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow


class LocalEmbeddings:
    """all-MiniLM-L6-v2. Documents and queries are embedded in the same way."""

    max_tokens: int | None = MAX_TOKENS
    dimensions: int | None = DIMENSIONS
    #: batches are formed later, by tokens
    batch = 4096
    variant = ""

    def embed(self, texts: Sequence[str], purpose: Purpose, deadline: CallDeadline) -> Flow[Embedded]:
        """The vectors of texts. They are computed a few batches at a time, so that a long call can be cancelled."""
        import numpy as np

        model: MiniLM = yield Offload(minilm)
        batches = yield Offload(lambda: list(model.batches(texts)))
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        used = 0
        for start in range(0, len(batches), step := 4 * core_count()):
            deadline.left()
            some = batches[start : start + step]
            found = yield Offload(partial(model.embed_tokens, [tokens for _, tokens in some]))
            for (places, tokens), rows in zip(some, found, strict=True):
                vectors[places] = rows
                used += sum(map(len, tokens))
        return Embedded(vectors, Usage(input=used))

    def count(self, texts: Sequence[str], deadline: CallDeadline) -> Flow[list[TokenCount]]:
        """Count the tokens of texts, including the start and end tokens."""
        model: MiniLM = yield Offload(minilm)
        tokens: list[list[int]] = yield Offload(lambda: model.tokens(texts))
        return [TokenCount(len(ids), exact=True) for ids in tokens]
