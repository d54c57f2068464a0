"""The names of a collection's indexes: the current index, and the shadow index for the vectors of another model. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.tables import Chunk, Collection


@dataclass(frozen=True, slots=True)
class Target:
    """An index and the model of its vectors."""

    index_id: str
    model: str


def index_name(collection_id: str, number: int) -> str:
    """The name of an index: the collection's id for the first, with `#` and a number for others. Ids do not contain `#`."""
    return f"{collection_id}#{number}" if number else collection_id


def searched_index(collection: Collection) -> str:
    """The name of the current index, which searches use."""
    return index_name(collection.collection_id, collection.index_number)


def shadow_target(collection: Collection) -> Target | None:
    """The shadow index that is being filled; None if there is none, or if it has already become the current index."""
    if collection.shadow_number is None or collection.shadow_model is None or collection.shadow_number == collection.index_number:
        return None
    return Target(index_name(collection.collection_id, collection.shadow_number), collection.shadow_model)


def all_indexes(collection_id: str, collection: Collection | None) -> Sequence[str]:
    """The names of all indexes that a collection may have, including leftovers of interrupted jobs."""
    last = 0 if collection is None else collection.index_changes
    return [index_name(collection_id, number) for number in range(last + 1)]


def stored_vector(chunk: Chunk, model: str) -> bytes | None:
    """The stored vector of a chunk for a model; None if it has none."""
    if chunk.shadow_model == model and chunk.shadow_vector is not None:
        return chunk.shadow_vector
    return chunk.vector if chunk.embedding_model == model else None
