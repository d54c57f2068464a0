"""Translates file system errors into errors of object stores."""

from __future__ import annotations

import errno
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.objects.errors import ObjectMissing, ObjectsClosed, StorageFailed, StorageFull

if TYPE_CHECKING:
    from collections.abc import Iterator

_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@contextmanager
def translated_errors(key: str, *, missing: bool = True) -> Iterator[None]:
    """Translate file system errors raised in the block. With `missing`, a missing file means a missing object."""
    try:
        yield
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            raise ObjectMissing(f"The object {key!r} does not exist.") from error
        if error.errno == errno.EBADF:
            raise ObjectsClosed(f"{key!r}: the object store is closed.") from error
        if error.errno in _DISK_FULL:
            raise StorageFull(f"The disk has no space left for {key!r}.") from error
        raise StorageFailed(f"{key!r}: {error.strerror or error}.") from error
