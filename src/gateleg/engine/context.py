"""The context of an operation's handler."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from gateleg.engine.catalog import Catalog
from gateleg.engine.database import Database
from gateleg.engine.layout import Layout
from gateleg.engine.schema import Index, Namespace, Table
from gateleg.engine.values import Item


def _asleep() -> None:
    """Nobody maintains the engine in the background."""


@dataclass(frozen=True, slots=True)
class Context:
    """The engine's parts, the namespace of the caller, and the form in which items are answered.

    With `raw` set, stored items go into the answer as the JSON text they are kept in; without, as dictionaries.
    """

    database: Database
    catalog: Catalog
    clock: Callable[[], float]
    namespace: Namespace
    raw: bool = False
    #: the folder whose subfolders stand for S3 buckets in exports and imports
    exports: Path | None = None
    #: tells the maintenance that there is something to do
    wake: Callable[[], None] = _asleep
    #: whether to do as DynamoDB Local does where it differs from the service
    like_local: bool = False

    def now(self) -> float:
        """Seconds since the epoch, by the engine's clock."""
        return self.clock()

    def layout(self, name: str) -> Layout:
        """The layout of a table by its name or ARN."""
        return self.catalog.layout(self.namespace, name)

    def item(self, stored: bytes) -> Any:
        """A stored item as it goes into the answer."""
        return orjson.Fragment(stored) if self.raw else orjson.loads(stored)

    def items(self, stored: Sequence[bytes]) -> Any:
        """A list of stored items as it goes into the answer."""
        text = b"[" + b",".join(stored) + b"]"
        return orjson.Fragment(text) if self.raw else orjson.loads(text)

    def statistics(self, table: Table) -> tuple[int, int]:
        """How many items a table has, and their bytes."""
        return self.catalog.statistics.of(f"items_{table.id}")

    def index_statistics(self, table: Table, index: Index) -> tuple[int, int]:
        """How many entries an index has, and their bytes; those that hold whole items have the items' sizes."""
        if index.projection == "ALL":
            return self.catalog.statistics.of(f"index_{index.id} i JOIN items_{table.id} t ON t.k = i.b", "t.size")
        return self.catalog.statistics.of(f"index_{index.id}")


def parsed(stored: bytes) -> Item:
    """A stored item as a dictionary."""
    item: Item = orjson.loads(stored)
    return item
