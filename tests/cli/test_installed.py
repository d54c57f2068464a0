import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from gateleg.cli.commands import app
from gateleg.cli.installed import (
    Installed,
    LeftOut,
    find_installed,
    installed_applications,
    named_application,
    package_of,
    reason_for,
    registered,
)
from gateleg.host.settings import Settings
from gateleg.store import Store
from tests.cli.strangers import APPLICATION, install


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path, whose modules are forgotten afterwards."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name, module in [*sys.modules.items()]:
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def test_a_package_registers_its_application_by_an_entry_point(folder: Path) -> None:
    own = [application.name for application in find_installed(Settings()).applications]
    install(folder, "films", entries={"films": "films_app:application"}, modules={"films_app": APPLICATION.format(name="films", more="")})
    assert [application.name for application in find_installed(Settings()).applications] == [*own, "films"]
    assert [application.name for application in find_installed(Settings(), demo=True).applications][-1] == "demo"


@pytest.mark.parametrize(
    ("text", "reason", "is_optional"),
    [
        (
            "import no_such_package\n",
            "broken_app:application of films needs no_such_package, which is not installed",
            True,
        ),
        ("import gateleg.no_such_module\n", "needs gateleg.no_such_module", False),
        ("1 / 0\n", "cannot be loaded: ZeroDivisionError: division by zero", False),
        ("application = 3\n", "is not a gateleg.host.Application", False),
        ("", "cannot be loaded: AttributeError", False),
        (APPLICATION.format(name="other", more=""), "is the application 'other', not 'broken'", False),
    ],
)
def test_a_broken_application_is_reported_by_name_and_left_out(
    folder: Path, caplog: pytest.LogCaptureFixture, text: str, reason: str, is_optional: bool
) -> None:
    modules = {"broken_app": text, "films_app": APPLICATION.format(name="films", more="")}
    install(folder, "films", entries={"broken": "broken_app:application", "films": "films_app:application"}, modules=modules)
    with caplog.at_level(logging.INFO, "gateleg.cli"):
        names = [application.name for application in installed_applications(Settings())]
    assert ("films" in names, "broken" in names) == (True, False)
    (record,) = [record for record in caplog.records if "application broken is not available" in record.getMessage()]
    assert (reason in record.getMessage(), record.levelno == logging.INFO) == (True, is_optional)


def test_a_package_in_place_of_its_application_is_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "shelves_app").mkdir()
    (folder / "shelves_app" / "__init__.py").write_text("from shelves_app import application\n")
    (folder / "shelves_app" / "application.py").write_text(APPLICATION.format(name="shelves", more=""))
    with pytest.raises(typer.Exit):
        named_application("shelves_app")
    told = "names the module shelves_app.application, not a gateleg.host.Application. Write shelves_app.application:application."
    assert told in capsys.readouterr().err


def test_applications_of_gateleg_without_their_extra_take_one_line_of_the_log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = [LeftOut("rag", "numpy is not installed.", is_optional=True), LeftOut("mv", "av is not installed.", is_optional=True)]
    monkeypatch.setattr("gateleg.cli.installed.find_installed", lambda settings, *, demo: Installed([], absent))
    with caplog.at_level(logging.INFO, "gateleg.cli"):
        assert installed_applications(Settings()) == []
    (record,) = caplog.records
    assert record.getMessage() == "Applications of Gateleg that are not installed: mv, rag. Each needs the extra of the same name."


def test_a_package_that_an_extra_of_gateleg_holds_is_named_with_it() -> None:
    own = [entry for entry in registered().values() if package_of(entry) == "gateleg"]
    for entry in own:
        told = reason_for(entry, ModuleNotFoundError("No module named 'scipy'", name="scipy"))
        assert told.startswith(f"scipy is not installed. Install the extra `{entry.name}`")
    assert own


def test_a_name_that_is_taken_or_reserved_is_left_out(folder: Path) -> None:
    modules = {
        "first_app": APPLICATION.format(name="films", more=""),
        "second_app": APPLICATION.format(name="films", more=""),
        "jobs_app": APPLICATION.format(name="jobs", more=""),
    }
    install(folder, "first", entries={"films": "first_app:application", "jobs": "jobs_app:application"}, modules=modules)
    install(folder, "second", entries={"films": "second_app:application"}, modules={})
    left_out = {one.name: one.reason for one in find_installed(Settings()).left_out if not one.is_optional}
    assert left_out["films"] == "second_app:application of second has the name of first_app:application"
    assert "The name 'jobs' is reserved" in left_out["jobs"]


def test_applications_are_named_in_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "own_application.py").write_text(APPLICATION.format(name="own", more=""))
    monkeypatch.chdir(folder)
    found = installed_applications(Settings(applications=("own_application:application",)))
    assert [application.name for application in found][-1] == "own"


def test_a_project_with_a_src_folder_needs_no_installation(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "project" / "src" / "clinic").mkdir(parents=True)
    (folder / "project" / "src" / "clinic" / "application.py").write_text(APPLICATION.format(name="clinic", more=""))
    monkeypatch.chdir(folder / "project")
    assert named_application("clinic.application:application").name == "clinic"


def test_an_application_that_is_installed_and_named_is_used_once(folder: Path) -> None:
    install(folder, "films", entries={"films": "films_app:application"}, modules={"films_app": APPLICATION.format(name="films", more="")})
    found = installed_applications(Settings(applications=("films_app:application", "films_app:application")))
    assert [application.name for application in found].count("films") == 1


@pytest.mark.parametrize(
    "command", [["tables", "plan"], ["jobs", "submit", "films.count"], ["migrate", "status"], ["config"], ["doctor"], ["serve"]]
)
def test_every_command_refuses_two_applications_of_one_name_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """Some once passed, and others failed with advice that did not help."""
    application = APPLICATION.format(name="films", more="")
    install(folder, "films", entries={"films": "films_app:application"}, modules={"films_app": application, "own_app": application})
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GATELEG_APPLICATIONS", "own_app:application")
    Store.connect("embedded:./data").close()
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 2
    assert told.stderr == (
        "gateleg: own_app:application in `applications` of the settings is the application 'films', as is another: "
        "films_app:application of films is installed. Rename one of them, or remove it from the settings\n"
    )


COMMANDS = """
import typer
from gateleg.commands import fail

app = typer.Typer()

@app.command()
def count(number: int = 3) -> None:
    if number < 0:
        fail("there are no such films")
    typer.echo(f"{number} films")
"""


def test_the_commands_of_an_application_are_those_of_gateleg(folder: Path) -> None:
    application = APPLICATION.format(name="films", more='commands="films_commands:app"')
    install(folder, "films", entries={"films": "films_app:application"}, modules={"films_app": application, "films_commands": COMMANDS})
    run = CliRunner().invoke
    assert run(app, ["films", "count", "--number", "7"]).output == "7 films\n"
    assert (told := run(app, ["films", "count", "--number", "-1"])).exit_code == 1
    assert told.stderr == "gateleg: there are no such films\n"
    assert "films" in run(app, ["--help"]).output


def test_a_broken_application_or_one_without_commands_says_so(folder: Path) -> None:
    modules = {"broken_app": "1 / 0\n", "films_app": APPLICATION.format(name="films", more="")}
    install(folder, "films", entries={"broken": "broken_app:application", "films": "films_app:application"}, modules=modules)
    run = CliRunner().invoke
    assert (
        run(app, ["broken", "x"]).stderr
        == "gateleg: broken_app:application of films cannot be loaded: ZeroDivisionError: division by zero\n"
    )
    assert run(app, ["films", "x"]).stderr == "gateleg: the application films has no commands\n"
    assert run(app, ["--help"]).exit_code == 0


def test_help_imports_no_application() -> None:
    program = (
        "import sys; from gateleg.cli.commands import app; app(['--help'], standalone_mode=False); "
        "assert not [name for name in sys.modules if name.startswith('gateleg.apps.')], sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, timeout=60)


def test_the_checkout_is_installed_as_pyproject_says() -> None:
    import tomllib

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    declared = tomllib.loads(text)["project"]["entry-points"]["gateleg.applications"]
    found = {name: entry.value for name, entry in registered().items()}
    assert declared.items() <= found.items(), "the entry points of pyproject.toml have changed: make, or pip install -e . --no-deps"


@pytest.mark.parametrize(
    ("command", "module", "extra"),
    [
        (["up", "--data", "data"], "uvicorn", "web"),
        (["serve", "--store", "embedded::memory:"], "nicegui", "web"),
    ],
)
def test_a_command_says_which_extra_it_misses(
    command: list[str], module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gateleg.commands.opening.find_spec", lambda name: None if name == module else object())
    told = CliRunner().invoke(app, command)
    assert told.exit_code == 1
    assert told.stderr.startswith(f"gateleg: {module} is not installed. Install the extra `{extra}`: `pip install '.[{extra}]'`")


def test_an_unknown_command_is_answered_with_similar_ones_also_of_groups_that_are_not_imported() -> None:
    output = CliRunner().invoke(app, ["jbos"]).output
    assert "No such command 'jbos'" in output
    assert "Did you mean 'jobs'" in output
    assert "Did you mean" not in CliRunner().invoke(app, ["xyzzy"]).output
