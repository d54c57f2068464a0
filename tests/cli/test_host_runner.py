"""What a host does once, before it answers."""

import subprocess
import sys

PROGRAM = """
import asyncio, gc
from gateleg.cli.host_runner import prepare_to_answer
from gateleg.host.settings import Settings

asyncio.run(prepare_to_answer(Settings(console=False)))
print(gc.get_freeze_count())
"""


def test_what_is_loaded_when_a_host_begins_is_not_collected_again() -> None:
    # In its own process: this changes the whole process.
    frozen = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True).stdout
    assert int(frozen) > 1000
