"""Salvage of a damaged file: the records of each SQLite table, and whether their pages are intact."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gateleg.engine.sqlite_pages import TABLE_LEAF, MalformedPage, Pages, columns

Record = tuple[int | None, tuple[Any, ...]]


@dataclass(slots=True)
class SalvagedTree:
    """A b-tree of SQLite (a table or an index), as far as it can be read."""

    #: rowid (None in an index) and columns of each record on intact pages
    records: list[Record] = field(default_factory=list)
    #: the same for records on damaged pages, which may be wrong
    suspects: list[Record] = field(default_factory=list)
    pages: set[int] = field(default_factory=set)
    #: whether parts of the tree cannot be read
    damaged: bool = False


class Salvage:
    """The b-trees of a file by their names in SQLite's schema."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        schema = _walk(pages, 1, taken=set(), lenient=True)
        self.schema_is_intact = not schema.damaged
        roots = {name: root for name, root in _roots(schema) if 1 < root <= pages.count}
        trunks, listed = pages.free()
        free = trunks | listed if pages.is_intact(1) else set()
        strict = {name: _walk(pages, root, taken=free, lenient=False) for name, root in roots.items()}
        owners: dict[int, str] = {number: name for name, tree in strict.items() for number in tree.pages}
        self.trees: dict[str, SalvagedTree] = {}
        for name, root in roots.items():
            tree = strict[name]
            if tree.damaged:
                others = {number for number, owner in owners.items() if owner != name} | schema.pages | free
                tree = _walk(pages, root, taken=others, lenient=True)
            self.trees[name] = tree
        used = schema.pages.union(free, *(tree.pages for tree in self.trees.values()))
        #: pages in use that no tree refers to
        self._orphans = [number for number in range(2, pages.count + 1) if number not in used]

    def tree(self, name: str) -> SalvagedTree:
        """The tree of that name; a damaged, empty one if it is missing."""
        return self.trees.get(name) or SalvagedTree(damaged=not self.schema_is_intact)

    def orphans(self) -> Iterator[Record]:
        """Intact records of tables that no tree refers to."""
        for number in self._orphans:
            try:
                if self._pages.is_intact(number) and self._pages.kind(number) == TABLE_LEAF:
                    for cell in self._pages.cells(number):
                        if cell.record is not None:
                            yield cell.rowid, columns(cell.record)
            except (MalformedPage, IndexError):
                continue


def _roots(schema: SalvagedTree) -> Iterator[tuple[str, int]]:
    for _, values in schema.suspects + schema.records:
        if len(values) == 5 and isinstance(values[1], str) and isinstance(values[3], int):
            yield values[1], values[3]


def _walk(pages: Pages, root: int, *, taken: set[int], lenient: bool) -> SalvagedTree:
    """Read the tree below a root, except for pages in `taken`.

    With `lenient`, pointers on damaged pages are followed: the pages they lead to have checksums of their own.
    """
    tree = SalvagedTree()
    waiting = [root]
    while waiting:
        number = waiting.pop()
        if number in tree.pages or number in taken or not 1 <= number <= pages.count:
            tree.damaged = True
            continue
        tree.pages.add(number)
        sound = pages.is_intact(number)
        if not sound:
            tree.damaged = True
            if not lenient:
                continue
        try:
            waiting.extend(_take_page(pages, number, tree, sound))
        except (MalformedPage, IndexError):
            tree.damaged = True
    return tree


def _take_page(pages: Pages, number: int, tree: SalvagedTree, sound: bool) -> Iterator[int]:
    """Add the records of a page to its tree; yields the pages below it."""
    for cell in pages.cells(number):
        tree.pages.update(cell.overflow)
        if cell.child is not None:
            yield cell.child
        if cell.payload is None:
            continue
        whole = sound and cell.record is not None
        tree.damaged = tree.damaged or not whole
        try:
            (tree.records if whole else tree.suspects).append((cell.rowid, columns(cell.payload)))
        except MalformedPage:
            tree.damaged = True
