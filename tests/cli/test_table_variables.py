"""A table that an environment variable names has that name at every door."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gateleg.apps.mv.application import application as mv
from gateleg.cli.commands import app
from gateleg.cli.installed import find_installed
from gateleg.host import Application
from gateleg.host.application import BadApplication, check_applications
from gateleg.host.host import Host
from gateleg.host.settings import BadSettings, Settings, load_settings
from gateleg.model import Table
from gateleg.store import Store
from gateleg.store.flow import Flow, Request

VARIABLE = "DYNAMODB_TABLE_NAME"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv(VARIABLE, "prod-videos")


def run(*words: str) -> Result:
    return CliRunner().invoke(app, [*words])


def row_of(setting: str) -> tuple[str, str]:
    rows = json.loads(run("config", "--json").output)
    return next((row["value"], row["from"]) for row in rows if row["setting"] == setting)


def deployed(store: Store) -> set[str]:
    def names() -> Flow[Any]:
        return (yield Request("ListTables", {}))["TableNames"]

    return set(store.drive(names()))


def test_the_configuration_shows_the_name_and_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert row_of("table_names") == ("MVProjects=prod-videos", VARIABLE)
    Path("gateleg.toml").write_text("[table_names]\nCollections = 'prod-collections'\n")
    assert row_of("table_names") == ("Collections=prod-collections, MVProjects=prod-videos", f"gateleg.toml, {VARIABLE}")
    Path("gateleg.toml").write_text("[table_names]\nMVProjects = 'mine'\n")
    assert row_of("table_names") == ("MVProjects=mine", "gateleg.toml")
    Path("gateleg.toml").unlink()
    monkeypatch.setenv(VARIABLE, "")
    assert row_of("table_names") == ("", "default")


def test_commands_on_tables_use_the_name() -> None:
    assert run("tables", "apply", "--only", "MVProjects").exit_code == 0
    plan = run("tables", "plan", "--only", "MVProjects", "--prefix", "test-").output
    assert "prod-videos" in plan
    assert "test-" not in plan
    with Store.connect("embedded:./data") as store:
        assert deployed(store) == {"prod-videos"}
    assert run("tables", "query", "Project.recent", "--arg", "status=pending").exit_code == 0
    for words in (["list"], ["explain", "Project.recent", "--arg", "status=pending"], ["template", "requests", "--only", "MVProjects"]):
        assert "prod-videos" in run("tables", *words).output, words
    with Store.connect("embedded:./data") as store:
        assert deployed(store) == {"prod-videos"}


@pytest.mark.parametrize("command", [["config"], ["tables", "plan"], ["doctor"], ["serve", "--port", "0"]])
@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("arn:aws:s3:::films", f"{VARIABLE}: 'arn:aws:s3:::films' cannot be the name of the table MVProjects"),
        ("  ", f"{VARIABLE}: '  ' cannot be the name of the table MVProjects"),
        ("LisaRagDocumentTable", "LisaRagDocumentTable has it"),
    ],
)
def test_a_value_that_cannot_be_the_name_is_refused(monkeypatch: pytest.MonkeyPatch, command: list[str], value: str, problem: str) -> None:
    monkeypatch.setenv(VARIABLE, value)
    result = run(*command)
    assert result.exit_code != 0
    assert problem in result.output


async def test_a_host_and_its_workers_use_the_name(tmp_path: Path) -> None:
    settings = load_settings(flags={"store": f"embedded:{tmp_path / 'data'}", "prefix": "test-"}, environ={VARIABLE: "prod-videos"})
    # As the host sends them to its worker.
    for read in (settings, Settings.unpack(json.loads(json.dumps(settings.pack())))):
        async with Host.open(read, [mv]) as host:
            names = {host.store.setup.name_of(table) for table in host.tables}
            again = Settings.unpack(host.settings.pack())
        assert "prod-videos" in names
        assert "test-MVProjects" not in names
        assert (again.table_names, again.origin("table_names")) == ({"MVProjects": "prod-videos"}, VARIABLE)


def test_settings_read_only_the_variables_that_they_are_given() -> None:
    applications = find_installed(Settings()).applications
    assert load_settings().naming_tables(applications).table_names == {}
    with pytest.raises(BadSettings, match="cannot be the name"):
        load_settings(environ={VARIABLE: "a/b"}).naming_tables(applications)


def test_an_application_names_only_tables_of_its_own_and_by_variables_of_its_own() -> None:
    songs, albums = Table("Songs", hash="pk"), Table("Albums", hash="pk")
    check_applications([Application("a", "A", "star", tables=(songs,), table_variables={"SONGS_TABLE": songs})])
    for variables, problem in (
        ({"ALBUMS_TABLE": albums}, "not one of its tables"),
        ({"GATELEG_SONGS": songs}, "GATELEG_SONGS"),
        ({"A B": songs}, "A B"),
        (("SONGS_TABLE", songs), "table_variables"),
    ):
        with pytest.raises(BadApplication, match=problem):
            check_applications([Application("a", "A", "star", tables=(songs,), table_variables=variables)])  # type: ignore[arg-type]


def test_one_variable_cannot_name_two_tables() -> None:
    songs, albums = Table("Songs", hash="pk"), Table("Albums", hash="pk")
    both = [
        Application(name, name, "star", tables=(table,), table_variables={"ONE_TABLE": table})
        for name, table in (("songs", songs), ("albums", albums))
    ]
    with pytest.raises(BadSettings, match="ONE_TABLE"):
        load_settings(environ={"ONE_TABLE": "shared"}).naming_tables(both)
