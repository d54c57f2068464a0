import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import gateleg.apps
from gateleg.cli import installed
from gateleg.cli.commands import app
from gateleg.cli.installed import installed_applications
from gateleg.web.settings import Settings

APPLICATION = 'from gateleg.web import Application\napplication = Application(name="{name}", title="{name}", icon="star")\n'


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of two applications of which one is there, and a folder for more."""
    monkeypatch.setattr(installed, "SUITE", ("first", "second"))
    monkeypatch.setattr(gateleg.apps, "__path__", [str(tmp_path)])
    monkeypatch.setattr("gateleg.cli.installed.resources.files", lambda package: tmp_path)
    for name in ("first", "second"):
        monkeypatch.delitem(sys.modules, f"gateleg.apps.{name}", raising=False)
        monkeypatch.delitem(sys.modules, f"gateleg.apps.{name}.application", raising=False)
    (tmp_path / "first").mkdir()
    (tmp_path / "first" / "__init__.py").write_text("")
    (tmp_path / "first" / "application.py").write_text(APPLICATION.format(name="first"))
    return tmp_path


def names(**options: bool) -> list[str]:
    return [application.name for application in installed_applications(Settings(), **options)]


def test_the_applications_that_are_there_are_installed(suite: Path) -> None:
    assert names() == ["first"]
    assert names(demo=True) == ["first", "demo"]


def test_an_application_whose_requirements_are_missing_is_left_out(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (suite / "second").mkdir()
    (suite / "second" / "application.py").write_text("import no_such_package_anywhere\n")
    assert names() == ["first"]


def test_a_fault_in_an_application_is_not_hidden(suite: Path) -> None:
    (suite / "second").mkdir()
    (suite / "second" / "application.py").write_text("import gateleg.no_such_module\n")
    with pytest.raises(ModuleNotFoundError):
        names()


def test_applications_are_named_in_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_application.py").write_text(APPLICATION.format(name="own"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    found = installed_applications(Settings(applications=("own_application:application",)))
    assert [application.name for application in found][-1] == "own"


@pytest.mark.parametrize(
    ("command", "module", "extra"),
    [
        (["up", "--data", "data"], "uvicorn", "web"),
        (["serve", "--store", "embedded::memory:"], "nicegui", "web"),
        (["delphi", "run", "votes.csv", "comments.csv"], "sklearn", "delphi"),
    ],
)
def test_a_command_says_which_extra_it_misses(
    command: list[str], module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installed, "find_spec", lambda name: None if name == module else object())
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 1
    assert told.stderr.startswith(f"gateleg: {module} is not installed. Install the extra `{extra}`: `pip install '.[{extra}]'`")
