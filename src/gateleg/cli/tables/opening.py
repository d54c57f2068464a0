"""Opening the store that a command works on, and saying what went wrong with it."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.cli.failures import FAILED, fail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.store import Store

#: Cursors of the command line are for whoever may read the table anyway: they are bound to their question, and need no secret.
_CURSOR_KEY = b"gateleg tables"


@contextmanager
def opened(address: str, prefix: str = "", status: int = FAILED) -> Iterator[Store]:
    """The store of an address, closed afterwards; what it cannot do ends the command."""
    from gateleg.model import ModelError
    from gateleg.store import Store, StoreError
    from gateleg.store.setup import table_names_in
    from gateleg.store.transports import ServiceError, Unreachable

    try:
        names = table_names_in(os.environ.get("GATELEG_TABLE_NAMES", ""))
        with Store.connect(address, prefix=prefix, cursor_key=_CURSOR_KEY, table_names=names) as store:
            yield store
    except (StoreError, ModelError, ServiceError, Unreachable) as error:
        fail(str(error), status)
    except (OSError, ValueError) as error:
        fail(f"cannot use {address}: {error}", status)
