"""Where an engine's data lies, as `--path` names it."""

from pathlib import Path

#: The database's name in a data folder.
DATABASE_NAME = "gateleg.db"

MEMORY = ":memory:"


def database_file(path: str) -> str:
    """The SQLite file that a path means: `:memory:`, a file that is there or is named `*.db`, or else `gateleg.db` in that folder."""
    if path == MEMORY:
        return path
    place = Path(path)
    if place.is_file() or (place.suffix == ".db" and not place.is_dir()):
        return str(place)
    return str(place / DATABASE_NAME)
