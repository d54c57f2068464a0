"""Unique constraints, declared on entities."""

from __future__ import annotations

from gateleg.model.errors import BadMark

#: The first part of the keys of marker items.
MARKER = "~unique"


class Unique:
    """Declare that no two items of the entity have the same values in these attributes.

    `name_once = Unique("repository_id", "name", ignore_case=True)`. A write that violates it raises `UniqueTaken`. An item with None in one
    of the attributes is exempt.

    For each combination, the store writes a marker item into the same table, in the transaction that writes the item. The marker's key
    contains the values; markers are in no index.
    """

    def __init__(self, *by: str, ignore_case: bool = False) -> None:
        for name in by:
            if not isinstance(name, str):
                raise BadMark(
                    f"Unique({name!r}) does not name an attribute.", fix='Name attributes one after another: Unique("tenant", "email").'
                )
        self.by = by
        self.ignore_case = ignore_case
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        """Remember the name of the class attribute."""
        self.name = name
