"""End the process of a worker within a few seconds, whatever handlers have left running in it."""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import NoReturn

#: Seconds that a process has to end by itself once its worker has stopped.
_GRACE = 2.0


def end_soon(seconds: float = _GRACE) -> None:
    """End this process in a moment, if it does not do so by itself: a handler may ignore that it is cancelled, or leave a thread behind."""
    timer = threading.Timer(seconds, end_now, args=(0,))
    timer.daemon = True
    timer.start()


def end_now(status: int) -> NoReturn:
    """End this process without waiting for anything."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status)
