"""Unique constraints, as declared on an entity."""

from __future__ import annotations

from gateleg.model.errors import BadMark

#: How the keys of marker items begin.
MARKER = "~unique"


class Unique:
    """No two items of the entity have the same values in these attributes: `name_once = Unique("repository_id", "name", ignore_case=True)`.

    Each combination is held by a marker item in the same table, in no index, whose key is made of the values. An item with a None among
    them holds no marker. Stores write markers in the transaction that writes the item.
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
        """Take the name it is declared under."""
        self.name = name
