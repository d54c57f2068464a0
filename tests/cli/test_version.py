"""`gateleg --version`."""

import subprocess
import sys

import pytest

import gateleg


@pytest.mark.parametrize("absent", ["", "sys.modules['typer'] = None; "])
def test_the_version_is_printed_with_and_without_the_extra_of_the_command_line(absent: str) -> None:
    code = f"import sys; {absent}sys.argv = ['gateleg', '--version']; from gateleg.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"gateleg {gateleg.__version__}\n", "")
