import subprocess
import sys


def test_what_is_loaded_is_not_looked_through_again() -> None:
    # In a process of its own: the settings are those of the whole process.
    program = "import gc; from gateleg.jobs import collect_seldom; collect_seldom(); print(gc.get_freeze_count(), gc.get_threshold()[0])"
    frozen, containers = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert int(frozen) > 1000
    assert int(containers) > 1000
