"""Running a function on what somebody else has sent, in a process of its own with limits on time, memory and output. Imports no room.

A file may be made to cost as much as possible, or to break the library that reads it. A process that is killed for it costs its limit and
nothing else.

    limits = ProcessLimits(seconds=20, memory=500_000_000)
    found = await run_limited("shop.invoices:read", {"path": str(path)}, limits, refusals=[BadInvoice])

The function takes and returns JSON values. Its module is imported before the limit on memory holds: a library that lacks memory while it is
loaded fails in ways that say nothing. `python -m gateleg.limited_process` is the program of that process.

A process that starts and imports its libraries anew costs some tenths of a second. With `preloaded=True` a process is kept that has
imported them, and forks one for each call: what one call does is gone with its process, as before.
"""

from gateleg.limited_process.limits import LimitReached, ProcessLimits
from gateleg.limited_process.running import run_limited

__all__ = ["LimitReached", "ProcessLimits", "run_limited"]
