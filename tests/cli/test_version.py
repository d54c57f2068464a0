"""`gateleg --version` and `--help`."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import gateleg
from gateleg.cli.commands import GROUPS, app


@pytest.mark.parametrize("absent", ["", "sys.modules['typer'] = None; "])
def test_the_version_is_printed_with_and_without_the_extra_of_the_command_line(absent: str) -> None:
    code = f"import sys; {absent}sys.argv = ['gateleg', '--version']; from gateleg.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"gateleg {gateleg.__version__}\n", "")


@pytest.mark.parametrize("command", [[], ["up"], ["jobs", "list"], ["jobs", "schedules", "add"], ["mv", "new"]])
def test_flags_have_no_type_in_the_help(command: list[str]) -> None:
    shown = CliRunner().invoke(app, [*command, "--help"])
    assert shown.exit_code == 0
    assert "--help" in shown.output
    assert "<bool>" not in shown.output


@pytest.mark.parametrize("group", GROUPS)
def test_groups_do_not_offer_to_install_completion_for_themselves(group: str) -> None:
    assert "completion" not in CliRunner().invoke(app, [group, "--help"]).output
