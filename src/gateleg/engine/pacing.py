"""Pacing: long work in short transactions, with room between them for those who wait to write."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from gateleg.engine.database import Connection, Database

#: The longest pause (seconds): as long as those who wait are ever asleep (`busy_handler.py`).
_LONGEST = 0.01


@contextmanager
def paced(database: Database) -> Iterator[Connection]:
    """A transaction, and a pause after it, as long as it was up to a bound, in which whoever waits gets its turn."""
    with database.write() as connection:
        began = time.monotonic()
        yield connection
    time.sleep(min(time.monotonic() - began, _LONGEST))
