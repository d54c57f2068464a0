"""`GATELEG_PLAIN=1` turns every fast path off.

A fast path is a second, faster implementation that gives the same result as the ordinary one: decoding without pydantic, or binding values
to a cached plan. A module with a fast path calls `is_plain` when it is imported, and leaves the fast path out if it returns True. Results
and stored data are the same either way: `make plain` runs the tests of the data layer and the queue without any fast path, and
`bench/ablation.py` shows what each one gains.

The variable is read when a process starts. `GATELEG_PLAIN=decoder,plans` turns off these two only; `FAST_PATHS` lists the names.
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
    "plans": "an update of a kind that was planned before only binds new values",
    "prepared": "claims and completions of jobs bind prepared updates, without looking up the plan of their kind",
    "exact_refs": "key components of exactly the declared types become a reference in one generated function",
    "direct": "a store without hooks and without a timeout sends a request without preparing either",
    "gets": "the engine answers a GetItem that has only a table and a key without checking for other parameters",
    "quick_check": "a valid request passes a compiled test instead of the checks that find out what is wrong with it",
    "request_plans": "the engine checks what requests with the same expressions and names share only once",
    "quick_keys": "a request's key of short strings becomes a row key in one step with its checks",
    "text_keys": "row keys of strings are built by functions for one or two of them",
    "index_keys": "index keys of two attributes are built in one step, with the prefix of their partition cached",
    "flat_updates": "an update of whole attributes is applied without a tree of its paths",
    "splicing": "stored items go into the endpoint's responses as they are, without being parsed",
}


def read_plain(value: str) -> frozenset[str]:
    """The fast paths that a value of the variable turns off: all for `1`, none for an empty value or `0`, otherwise those that it lists.

    Raises `ValueError` if it lists an unknown name.
    """
    value = value.strip()
    if value in ("", "0"):
        return frozenset()
    if value == "1":
        return frozenset(FAST_PATHS)
    names = frozenset(name.strip() for name in value.split(","))
    unknown = sorted(names - FAST_PATHS.keys())
    if unknown:
        raise ValueError(
            f"{VARIABLE} contains {', '.join(unknown)}, which is not a fast path. Set it to 1, or to some of {', '.join(FAST_PATHS)}."
        )
    return names


_OFF = read_plain(os.environ.get(VARIABLE, ""))


def is_plain(name: str) -> bool:
    """Whether a fast path (a name in `FAST_PATHS`) is turned off in this process."""
    if name not in FAST_PATHS:
        raise ValueError(f"{name!r} is not in FAST_PATHS.")
    return name in _OFF
