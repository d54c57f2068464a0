"""Run a function on untrusted input in a separate process, with limits on time, memory and output. Imports no other room but `errors`.

A malicious file may be expensive to read, or crash the library that reads it. In a separate process it can cost at most these limits.

    limits = ProcessLimits(seconds=20, memory=500_000_000)
    found = await run_limited("shop.invoices:read", {"path": str(path)}, limits, refusals=[BadInvoice])

The function takes and returns JSON values. Its module is imported before the memory limit applies, because libraries that
run out of memory while loading fail in obscure ways. `python -m gateleg.limited_process` is the program of that process.

Starting a process and importing its libraries takes some tenths of a second. With `preloaded=True`, a fork server that has imported them
forks a process for each call. Calls stay isolated from each other.

`match_patterns` is how regular expressions of users are applied.
"""

from gateleg.limited_process.running import (
    LimitReached,
    Matching,
    ProcessLimits,
    match_patterns,
    pattern_problems,
    run_limited,
    run_limited_blocking,
)

__all__ = ["LimitReached", "Matching", "ProcessLimits", "match_patterns", "pattern_problems", "run_limited", "run_limited_blocking"]
