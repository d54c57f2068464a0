"""Run Python in other processes, which can always be killed with everything that they have started. Imports no other room but `errors`.

- `Child` is a process that runs one function, and exchanges lines with it. `ChildPool` keeps the next one ready.
- `run_limited` calls a function on untrusted input, with limits on time, memory and output.
- `match_patterns` is how regular expressions of users are applied.
- `run_replicas` runs the same server in several processes.

`python -m gateleg.processes` is the program of all these processes but the replicas, which are forks of their parent.
"""

from gateleg.processes.children import Child, ChildPool
from gateleg.processes.limited import LimitReached, ProcessLimits, run_limited, run_limited_blocking
from gateleg.processes.patterns import Matching, match_patterns, pattern_problems
from gateleg.processes.program import Connection
from gateleg.processes.replicas import run_replicas

__all__ = [
    "Child",
    "ChildPool",
    "Connection",
    "LimitReached",
    "Matching",
    "ProcessLimits",
    "match_patterns",
    "pattern_problems",
    "run_limited",
    "run_limited_blocking",
    "run_replicas",
]
