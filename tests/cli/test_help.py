"""`--help` of the commands."""

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app


@pytest.mark.parametrize("command", ["", "up", "keys", "keys list", "jobs schedules", "jobs schedules list", "delphi", "delphi reprocess"])
def test_help_shows_the_types_of_values_only_and_no_installation_of_completions(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "120"})
    assert result.exit_code == 0
    assert "--help" in result.output
    assert "bool" not in result.output
    assert "completion" not in result.output
