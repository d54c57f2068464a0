"""The SQLite file of an embedded store."""

from __future__ import annotations

from pathlib import Path

__all__ = ["MEMORY", "database_file"]

#: The path of an embedded store in memory.
MEMORY = ":memory:"
#: The database's name in a data folder.
_NAME = "gateleg.db"


def database_file(path: str) -> str:
    """The SQLite file for a path in an address: the path itself if it is `:memory:`, a file or `*.db`; else `gateleg.db` in that folder."""
    if path == MEMORY:
        return path
    place = Path(path)
    if place.is_file() or (place.suffix == ".db" and not place.is_dir()):
        return str(place)
    return str(place / _NAME)
