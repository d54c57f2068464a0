"""Looking for garbage less often, in a process that does nothing but run jobs."""

import gc

#: How many more containers must have been made than let go before Python looks for cycles among them; usually it is some hundred.
_CONTAINERS = 10_000


def collect_garbage_less_often() -> None:
    """Look for unreachable cycles less often, and not again in what is loaded by now.

    A job makes a few hundred small containers and no cycles, so that most looks find nothing. `gateleg worker` calls this; a program with a
    `Worker` of its own may, once everything is imported. It changes the settings of the whole process.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_CONTAINERS, 20, 20)
