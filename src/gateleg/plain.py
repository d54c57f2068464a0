"""`GATELEG_PLAIN=1` turns every fast path off.

A fast path is a second, faster implementation that gives the same result as the ordinary one: decoding without pydantic, or binding values
to a cached plan. The module that has one calls `is_plain` when it is imported, and leaves the fast path out if the answer is yes. Answers
and stored data are the same either way: `make plain` runs the tests of the data layer and the queue without any fast path, and
`bench/ablation.py` shows what each one gains.

The variable is read when a process starts. `GATELEG_PLAIN=decoder,plans` turns off these two only; `FAST_PATHS` has the names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FAST_PATHS", "VARIABLE", "is_plain", "read_plain"]

VARIABLE = "GATELEG_PLAIN"
#: Every fast path: its name in the variable, and what it saves.
FAST_PATHS: Mapping[str, str] = {
    "decoder": "decoding skips pydantic's validation where the wire type already guarantees the result",
    "instances": "instances whose values are known to be valid are built without pydantic",
    "plans": "an update of a kind that was planned before only binds new values",
    "prepared": "claims and completions of jobs bind prepared updates, without looking up the plan of their kind",
    "gets": "the engine answers a GetItem that has only a table and a key without checking for other parameters",
    "speculation": "an update is computed on the last known content of its row before the write lock is taken",
    "update_plans": "the engine validates what all updates of one prepared update share only once",
}


def read_plain(value: str) -> frozenset[str]:
    """The fast paths that a value of the variable turns off: `1` means all, an empty value or `0` none, otherwise those that it names."""
    given = value.strip()
    if given in ("", "0"):
        return frozenset()
    if given == "1":
        return frozenset(FAST_PATHS)
    names = frozenset(name.strip() for name in given.split(","))
    unknown = sorted(names - FAST_PATHS.keys())
    if unknown:
        raise ValueError(
            f"{VARIABLE} names {', '.join(unknown)}, which is not a fast path. Set it to 1, or to some of {', '.join(FAST_PATHS)}."
        )
    return names


_OFF = read_plain(os.environ.get(VARIABLE, ""))


def is_plain(name: str) -> bool:
    """Whether a fast path is turned off in this process."""
    if name not in FAST_PATHS:
        raise ValueError(f"{name!r} is not in FAST_PATHS.")
    return name in _OFF
