"""Packs whole numbers into bytes: delta-encoded, because ascending numbers have small differences, and compressed."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from gateleg.apps.delphi.conversations.votes import Ints

#: The version of the format.
_VERSION = 1
_HEAD = struct.Struct("<BBI")
#: The possible sizes of a difference in bytes, smallest first.
_WIDTHS = (1, 2, 4, 8)


def pack(numbers: npt.NDArray[Any]) -> bytes:
    """Pack numbers: the format's version, the size of a difference, the count, and the compressed differences."""
    import numpy as np

    steps = np.diff(numbers.astype(np.int64), prepend=0)
    largest = int(np.abs(steps).max(initial=0))
    width = next(width for width in _WIDTHS if largest < 2 ** (8 * width - 1))
    body = steps.astype(f"<i{width}").tobytes()
    return _HEAD.pack(_VERSION, width, len(numbers)) + zlib.compress(body, 6)


def unpack(data: bytes) -> Ints:
    """Unpack numbers."""
    import numpy as np

    version, width, count = _HEAD.unpack_from(data)
    if version != _VERSION or width not in _WIDTHS:
        raise ValueError(f"Packed numbers have version {version} and width {width}, which this program does not support.")
    steps = np.frombuffer(zlib.decompress(data[_HEAD.size :]), dtype=f"<i{width}")
    if len(steps) != count:
        raise ValueError(f"Packed numbers are damaged: expected {count}, got {len(steps)}.")
    return np.cumsum(steps, dtype=np.int64)
