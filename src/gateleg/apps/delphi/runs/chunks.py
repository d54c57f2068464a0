"""Whole numbers packed into bytes: kept as differences, which are small where numbers ascend, and compressed."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

    from gateleg.apps.delphi.conversations.votes import Ints

#: The form of what follows, so that a later one can be told from it.
_FORM = 1
_HEAD = struct.Struct("<BBI")
#: Bytes that a difference may take, smallest first.
_WIDTHS = (1, 2, 4, 8)


def pack(numbers: npt.NDArray[Any]) -> bytes:
    """Numbers as bytes: the form, the width of a difference, how many there are, and the differences."""
    import numpy as np

    steps = np.diff(numbers.astype(np.int64), prepend=0)
    largest = int(np.abs(steps).max(initial=0))
    width = next(width for width in _WIDTHS if largest < 2 ** (8 * width - 1))
    body = steps.astype(f"<i{width}").tobytes()
    return _HEAD.pack(_FORM, width, len(numbers)) + zlib.compress(body, 6)


def unpack(data: bytes) -> Ints:
    """The numbers that were packed."""
    import numpy as np

    form, width, count = _HEAD.unpack_from(data)
    if form != _FORM or width not in _WIDTHS:
        raise ValueError(f"These numbers are packed in form {form} with width {width}, which this program does not know.")
    steps = np.frombuffer(zlib.decompress(data[_HEAD.size :]), dtype=f"<i{width}")
    if len(steps) != count:
        raise ValueError(f"{count} numbers were packed, and {len(steps)} are there.")
    return np.cumsum(steps, dtype=np.int64)
