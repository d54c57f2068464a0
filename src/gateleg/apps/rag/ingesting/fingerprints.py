"""Which documents are alike: simhashes of their words, kept in four parts, so that texts that differ in up to three bits share one."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.rag.tables import Fingerprint

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.apps.rag.tables import Document
    from gateleg.store import AsyncStore

_WORD = re.compile(r"\w+")
_BANDS = 4
#: Bits in which the simhashes of texts that are almost the same differ at most.
NEAR = 3
#: Words of a document that count, and documents that are named as alike.
_MOST_WORDS, _MOST_ALIKE = 200_000, 20


def simhash(text: str) -> str:
    """64 bits of a text in hexadecimal: each bit is that of most of its runs of three words."""
    import numpy as np

    words = [match[0].casefold() for match in _WORD.finditer(text)][:_MOST_WORDS]
    runs = Counter(" ".join(words[place : place + 3]) for place in range(max(1, len(words) - 2)))
    hashes = b"".join(hashlib.blake2b(run.encode("utf-8", "replace"), digest_size=8).digest() for run in runs)
    bits = np.unpackbits(np.frombuffer(hashes, dtype=np.uint8).reshape(-1, 8), axis=1)
    counts = np.fromiter(runs.values(), dtype=np.int64, count=len(runs))
    ones = counts @ bits
    return np.packbits(ones * 2 > counts.sum()).tobytes().hex()


def distance(one: str, other: str) -> int:
    """In how many bits two simhashes differ."""
    return (int(one, 16) ^ int(other, 16)).bit_count()


def bands(found: str) -> list[str]:
    """The parts of a simhash, each with its place."""
    width = len(found) // _BANDS
    return [f"{place}-{found[place * width : (place + 1) * width]}" for place in range(_BANDS)]


@dataclass(frozen=True, slots=True)
class Alike:
    """Other documents of a collection: those with the same content, and those with almost the same text, nearest first."""

    same: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


async def find_alike(store: AsyncStore, document: Document, content: str, found: str) -> Alike:
    """The documents that are like one whose content has a digest and whose text has a simhash."""
    same = [name async for name, _ in _in_band(store, document, _exact(content))]
    near: dict[str, int] = {}
    for band in bands(found):
        async for name, other in _in_band(store, document, band):
            if (bits := distance(other, found)) <= NEAR and name not in same:
                near[name] = bits
    return Alike(tuple(sorted(same)[:_MOST_ALIKE]), tuple(sorted(near, key=lambda name: (near[name], name))[:_MOST_ALIKE]))


async def _in_band(store: AsyncStore, document: Document, band: str) -> AsyncIterator[tuple[str, str]]:
    query = Fingerprint.in_band(repository_id=document.repository_id, collection_id=document.collection_id, band=band)
    async for one in store.query(query, limit=1_000):
        if one.document_id != document.document_id:
            yield one.document_id, one.simhash


def _exact(content: str) -> str:
    return f"content-{content}"


async def keep_fingerprint(store: AsyncStore, document: Document) -> None:
    """Write the fingerprint of a document as its row has it."""
    await store.batch_write(_rows(document, document.content_hash, document.simhash))


async def forget_fingerprint(store: AsyncStore, document: Document) -> None:
    """Remove the fingerprint that the row of a document has: before the row changes, or goes."""
    await store.batch_write(deletes=_rows(document, document.content_hash, document.simhash))


def _rows(document: Document, content: str | None, found: str | None) -> list[Fingerprint]:
    if content is None or found is None:
        return []
    return [
        Fingerprint(
            repository_id=document.repository_id,
            collection_id=document.collection_id,
            band=band,
            document_id=document.document_id,
            simhash=found,
        )
        for band in (_exact(content), *bands(found))
    ]
