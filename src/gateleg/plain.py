"""`GATELEG_PLAIN=1` turns every short way off.

A short way is a second, faster way to a result that the ordinary way gives too: decoding past pydantic, a plan that is kept and filled in,
a request that is answered without a thread. Each of them asks `is_plain` when its module is imported, and is left out where the answer is
yes. Answers and stored data are the same with and without: `make plain` runs the tests of the data layer and of jobs without any of them,
and `bench/ablation.py` shows what each one gains.

The variable is read when a process starts. `GATELEG_PLAIN=decoder,plans` turns only these off; `SHORT_WAYS` has the names.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SHORT_WAYS", "VARIABLE", "is_plain", "read_plain"]

VARIABLE = "GATELEG_PLAIN"
#: Every short way: its name in the variable, and what it leaves out.
SHORT_WAYS: Mapping[str, str] = {
    "decoder": "decoding skips pydantic's validation where the type on the wire guarantees the result",
    "instances": "instances of values that are known to be valid are made without pydantic",
    "plans": "an update of a kind that was planned before is bound to new values",
    "prepared": "claims and completions of jobs are bound from prepared updates, without looking for the plan of their kind",
    "inline": "a worker's small requests to an engine in its process are answered without a thread",
    "gets": "the engine answers a GetItem of a table and a key without looking at anything else",
    "speculation": "an update is worked out on the row as it was left last, before others have to wait",
    "update_plans": "the engine checks what updates of one prepared update have in common once",
}


def read_plain(value: str) -> frozenset[str]:
    """The short ways that a value of the variable turns off: `1` all of them, nothing or `0` none, else those that it names."""
    given = value.strip()
    if given in ("", "0"):
        return frozenset()
    if given == "1":
        return frozenset(SHORT_WAYS)
    names = frozenset(name.strip() for name in given.split(","))
    unknown = sorted(names - SHORT_WAYS.keys())
    if unknown:
        raise ValueError(
            f"{VARIABLE} names {', '.join(unknown)}, which is not a short way. Set it to 1, or to some of {', '.join(SHORT_WAYS)}."
        )
    return names


_OFF = read_plain(os.environ.get(VARIABLE, ""))


def is_plain(name: str) -> bool:
    """Whether a short way is turned off in this process."""
    if name not in SHORT_WAYS:
        raise ValueError(f"{name!r} is not in SHORT_WAYS.")
    return name in _OFF
