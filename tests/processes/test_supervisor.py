"""The supervisor finds everything that its worker has started."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gateleg.processes.supervisor import descendants

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

#: A process whose first thread has ended while another lives, as it is for a moment when a process with threads is killed.
HALF_ENDED = """
import ctypes, subprocess, threading, time
print(subprocess.Popen(["sleep", "3600"], start_new_session=True).pid, flush=True)
threading.Thread(target=time.sleep, args=(3600,)).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_what_a_process_that_is_ending_has_started_is_found() -> None:
    with subprocess.Popen([sys.executable, "-c", HALF_ENDED], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        started = int(process.stdout.readline())
        try:
            until = time.monotonic() + 30
            while state_of(process.pid) != "Z" and time.monotonic() < until:
                time.sleep(0.002)
            assert started in descendants(os.getpid())
            assert process.pid not in descendants(os.getpid())
        finally:
            os.kill(started, 9)
            process.kill()
