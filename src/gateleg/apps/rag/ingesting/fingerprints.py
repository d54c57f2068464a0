"""Detection of similar documents by simhash. A hash is stored in four bands; hashes that differ in up to three bits share one."""

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
#: Maximum Hamming distance of the simhashes of similar texts, in bits.
MAX_DISTANCE_BITS = 3
#: Maximum words of a document that are hashed, and maximum similar documents that are reported.
_MAX_WORDS, _MAX_SIMILAR = 200_000, 20


def simhash(text: str) -> str:
    """The 64-bit simhash of a text in hexadecimal: each bit is the majority over the hashes of its word trigrams."""
    import numpy as np

    words = [match[0].casefold() for match in _WORD.finditer(text)][:_MAX_WORDS]
    runs = Counter(" ".join(words[place : place + 3]) for place in range(max(1, len(words) - 2)))
    hashes = b"".join(hashlib.blake2b(run.encode("utf-8", "replace"), digest_size=8).digest() for run in runs)
    bits = np.unpackbits(np.frombuffer(hashes, dtype=np.uint8).reshape(-1, 8), axis=1)
    counts = np.fromiter(runs.values(), dtype=np.int64, count=len(runs))
    ones = counts @ bits
    return np.packbits(ones * 2 > counts.sum()).tobytes().hex()


def distance(one: str, other: str) -> int:
    """The Hamming distance of two simhashes."""
    return (int(one, 16) ^ int(other, 16)).bit_count()


def bands(hash_: str) -> list[str]:
    """The bands of a simhash, each prefixed with its number."""
    width = len(hash_) // _BANDS
    return [f"{place}-{hash_[place * width : (place + 1) * width]}" for place in range(_BANDS)]


@dataclass(frozen=True, slots=True)
class SimilarDocuments:
    """Other documents of a collection: those with the same content, and those with almost the same text, nearest first."""

    same: tuple[str, ...] = ()
    near: tuple[str, ...] = ()


async def find_similar(store: AsyncStore, document: Document, content: str, hash_: str) -> SimilarDocuments:
    """Find other documents of the collection with the same content digest, or with a simhash close to `hash_`."""
    same = [name async for name, _ in _in_band(store, document, _exact(content))]
    near: dict[str, int] = {}
    for band in bands(hash_):
        async for name, other in _in_band(store, document, band):
            if (bits := distance(other, hash_)) <= MAX_DISTANCE_BITS and name not in same:
                near[name] = bits
    return SimilarDocuments(tuple(sorted(same)[:_MAX_SIMILAR]), tuple(sorted(near, key=lambda name: (near[name], name))[:_MAX_SIMILAR]))


async def _in_band(store: AsyncStore, document: Document, band: str) -> AsyncIterator[tuple[str, str]]:
    query = Fingerprint.in_band(repository_id=document.repository_id, collection_id=document.collection_id, band=band)
    async for one in store.query(query, limit=1_000):
        if one.document_id != document.document_id:
            yield one.document_id, one.simhash


def _exact(content: str) -> str:
    return f"content-{content}"


async def write_fingerprint(store: AsyncStore, document: Document) -> None:
    """Write the fingerprint of a document from its row."""
    await store.batch_write(_rows(document, document.content_hash, document.simhash))


async def delete_fingerprint(store: AsyncStore, document: Document) -> None:
    """Delete the fingerprint of a document. Call it before its row changes or is deleted."""
    await store.batch_write(deletes=_rows(document, document.content_hash, document.simhash))


def _rows(document: Document, content: str | None, hash_: str | None) -> list[Fingerprint]:
    if content is None or hash_ is None:
        return []
    return [
        Fingerprint(
            repository_id=document.repository_id,
            collection_id=document.collection_id,
            band=band,
            document_id=document.document_id,
            simhash=hash_,
        )
        for band in (_exact(content), *bands(hash_))
    ]
