"""What every operation handler receives."""

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


def _no_maintenance() -> None:
    """Used where the engine has no maintenance thread."""


@dataclass(frozen=True, slots=True)
class Context:
    """The engine's parts, the caller's namespace, and how stored items go into responses.

    With `splice`, stored items go into the response as their JSON text; otherwise as dictionaries.
    """

    database: Database
    catalog: Catalog
    clock: Callable[[], float]
    namespace: Namespace
    splice: bool = False
    #: folder whose subfolders serve as S3 buckets for exports and imports
    exports: Path | None = None
    #: wakes the maintenance thread if it has work
    wake: Callable[[], None] = _no_maintenance
    #: whether to behave as DynamoDB Local where that differs from the service
    like_local: bool = False

    def now(self) -> float:
        """Seconds since the epoch, by the engine's clock."""
        return self.clock()

    def layout(self, name: str) -> Layout:
        """The layout of a table by its name or ARN."""
        return self.catalog.layout(self.namespace, name)

    def response_item(self, stored: bytes) -> Any:
        """A stored item in the form that responses use."""
        return orjson.Fragment(stored) if self.splice else orjson.loads(stored)

    def response_items(self, stored: Sequence[bytes]) -> Any:
        """A list of stored items in the form that responses use."""
        text = b"[" + b",".join(stored) + b"]"
        return orjson.Fragment(text) if self.splice else orjson.loads(text)

    def statistics(self, table: Table) -> tuple[int, int]:
        """Number and total size in bytes of a table's items."""
        return self.catalog.statistics.of(f"items_{table.id}")

    def index_statistics(self, table: Table, index: Index) -> tuple[int, int]:
        """Number and total size in bytes of an index's entries; with projection ALL, an entry counts with the size of its item."""
        if index.projection == "ALL":
            return self.catalog.statistics.of(f"index_{index.id} i JOIN items_{table.id} t ON t.k = i.b", "t.size")
        return self.catalog.statistics.of(f"index_{index.id}")


def parse_item(stored: bytes) -> Item:
    """Parse a stored item."""
    item: Item = orjson.loads(stored)
    return item
