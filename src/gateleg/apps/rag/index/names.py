"""The names of the indexes of a collection: the one that is searched, and the one that another model's vectors are written to. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.rag.tables import Chunk, Collection


@dataclass(frozen=True, slots=True)
class Target:
    """An index, and the model whose vectors it holds."""

    index_id: str
    model: str


def index_name(collection_id: str, number: int) -> str:
    """The name of an index of a collection: the collection's own for the first. Ids have no `#`."""
    return f"{collection_id}#{number}" if number else collection_id


def searched_index(collection: Collection) -> str:
    """The name of the index that searches use."""
    return index_name(collection.collection_id, collection.index_number)


def shadow_target(collection: Collection) -> Target | None:
    """The index that is being filled beside the one that is searched; None if there is none, or if it is searched already."""
    if collection.shadow_number is None or collection.shadow_model is None or collection.shadow_number == collection.index_number:
        return None
    return Target(index_name(collection.collection_id, collection.shadow_number), collection.shadow_model)


def all_indexes(collection_id: str, collection: Collection | None) -> Sequence[str]:
    """The names of all indexes that a collection may have, also of those that an interrupted job has left."""
    last = 0 if collection is None else collection.index_changes
    return [index_name(collection_id, number) for number in range(last + 1)]


def stored_vector(chunk: Chunk, model: str) -> bytes | None:
    """The vector of a chunk by a model; None if it has none."""
    if chunk.shadow_model == model and chunk.shadow_vector is not None:
        return chunk.shadow_vector
    return chunk.vector if chunk.embedding_model == model else None
