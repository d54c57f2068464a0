"""One configuration for every command."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli import installed
from gateleg.cli.commands import app
from gateleg.commands import settings_from
from gateleg.host.settings import BadSettings, Settings, load_settings
from gateleg.jobs import JobStatus, Queue, Submission, TestWorker
from gateleg.jobs.retention import log_key
from gateleg.jobs.rules import RETENTION
from gateleg.objects import open_objects
from gateleg.store import Store
from tests.jobs.chores import jobs

SHOP = """
from gateleg.jobs import Jobs
from gateleg.model import Attr, Entity, Key, Pattern, Table
from gateleg.host import Application

orders = Table("Orders", hash="order_id")


class Order(Entity, table=orders):
    order_id: Attr[str]
    key = Key("{order_id}")
    one = Pattern(title="An order")


def make_jobs(resources):
    jobs = Jobs()

    @jobs.handler("ship")
    async def ship(context, config):
        pass

    return jobs


application = Application(name="shop", title="Shop", icon="store", tables=(orders,), jobs=make_jobs)
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder, without the suite's applications."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(installed, "entry_points", lambda group: ())
    monkeypatch.setenv("COLUMNS", "200")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def out(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def items(*arguments: str) -> list[Any]:
    found: list[Any] = json.loads(out(*arguments, "--json"))["items"]
    return found


def submit(store: str, prefix: str = "") -> str:
    with Store.connect(store, prefix) as opened:
        queue = Queue(opened, jobs)
        queue.ensure_tables()
        return str(queue.submit(Submission("echo")).job.job_id)


def test_jobs_are_those_of_the_store_and_the_prefix_in_the_file() -> None:
    Path("gateleg.toml").write_text('store = "embedded:./shop"\nprefix = "dev-"\n')
    name = submit("embedded:./shop", "dev-")
    assert [job["job_id"] for job in items("jobs", "list")] == [name]
    assert name in out("jobs", "show", name)
    assert items("jobs", "list", "--prefix", "dev-", "--store", "embedded:./shop")[0]["job_id"] == name


def test_variables_override_the_file_and_flags_override_both(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("gateleg.toml").write_text('store = "embedded:./file"\n')
    names = {place: submit(f"embedded:./{place}") for place in ("file", "variable", "flag")}
    assert items("jobs", "list")[0]["job_id"] == names["file"]
    monkeypatch.setenv("GATELEG_STORE", "embedded:./variable")
    assert items("jobs", "list")[0]["job_id"] == names["variable"]
    assert items("jobs", "list", "--store", "embedded:./flag")[0]["job_id"] == names["flag"]


def test_another_file_is_named_with_config() -> None:
    Path("other.toml").write_text('store = "embedded:./other"\n')
    name = submit("embedded:./other")
    assert items("jobs", "list", "--config", "other.toml")[0]["job_id"] == name
    assert out("tables", "list", "-c", "other.toml").count("ACTIVE") == 3
    assert out("engine", "check", "-c", "other.toml").startswith("other/gateleg.db: no faults found")


def test_applications_of_the_settings_bring_their_tables_and_job_types() -> None:
    Path("shop_of_settings.py").write_text(SHOP)
    Path("gateleg.toml").write_text('applications = ["shop_of_settings:application"]\n')
    out("tables", "apply", "--yes")
    created = [row["table"] for row in items("tables", "list")]
    assert "Orders" in created
    assert out("tables", "drift") == f"No drift in {len(created)} tables.\n"
    assert "An order" in out("tables", "explain", "Order.one")
    name = out("jobs", "submit", "ship").strip()
    assert items("jobs", "list")[0]["job_id"] == name
    assert run("tables", "browse", "Order").stdout == "No items.\n"


def test_tables_named_by_a_flag_or_the_settings_stand_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("shop_tables.py").write_text(SHOP)
    out("tables", "apply", "--tables", "shop_tables")
    assert [row["table"] for row in items("tables", "list", "--tables", "shop_tables")] == ["Orders"]
    monkeypatch.setenv("GATELEG_TABLES", "shop_tables")
    assert out("tables", "drift") == "No drift in 1 table.\n"


@pytest.mark.parametrize(
    "command",
    [
        ("jobs", "list"),
        ("jobs", "stats"),
        ("jobs", "workers"),
        ("jobs", "retry", "--all"),
        ("jobs", "archive", "--sweep"),
        ("jobs", "schedules", "list"),
        ("tables", "list"),
        ("tables", "plan"),
        ("tables", "drift"),
        ("tables", "browse", "Job"),
        ("tables", "query", "Job.in_status", "--arg", "status=PENDING"),
        ("tables", "check"),
        ("tables", "export", "Job"),
        ("keys", "list"),
        ("engine", "check"),
        ("engine", "compact"),
    ],
)
def test_a_mistyped_path_is_an_error_and_creates_nothing(command: tuple[str, ...]) -> None:
    Path("gateleg.toml").write_text('store = "embedded:./dta"\n')
    result = run(*command)
    assert result.exit_code in (1, 2)
    assert "dta" in result.stderr
    assert [path.name for path in Path.cwd().iterdir()] == ["gateleg.toml"]


def test_the_error_says_where_the_path_came_from_and_what_to_do() -> None:
    told = run("jobs", "list", "--store", "embedded:./dta").stderr
    assert told.startswith("gateleg: there is no store at ./dta (from --store): dta/gateleg.db does not exist. ")
    assert "(the default)" in run("jobs", "list").stderr


def test_a_store_without_a_queue_says_what_makes_one() -> None:
    Store.connect("embedded:./data").close()
    result = run("jobs", "list")
    assert (result.exit_code, "has no queue yet" in result.stderr) == (1, True)


def test_an_engine_command_needs_a_store_on_this_machine() -> None:
    Path("gateleg.toml").write_text('store = "dynamodb:eu-west-1"\n')
    result = run("engine", "check")
    assert (result.exit_code, "--path" in result.stderr) == (2, True)


def test_a_sweep_copies_long_logs_to_the_objects_of_the_settings() -> None:
    Path("gateleg.toml").write_text('objects = "dir:./kept"\n')
    long_ago = time.time() - RETENTION[JobStatus.COMPLETED].total_seconds() - 60
    with Store.connect("embedded:./data", clock=lambda: long_ago) as store:
        queue = Queue(store, jobs)
        queue.ensure_tables()
        name = queue.submit(Submission("echo", {"words": [f"word {number}" for number in range(500)]}, subject="s")).job.job_id
        TestWorker(queue).run()
    assert out("jobs", "archive", "--sweep") == "1 job archived\n"
    assert items("jobs", "archive", "--subject", "s")[0]["logs"]["log_location"] == log_key(name)
    with open_objects("dir:./kept") as objects:
        assert objects.get(log_key(name)).count(b"word") == 500


class TestPlaces:
    """What a folder has beside its tables belongs to it, whichever way it is named."""

    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    @pytest.mark.parametrize(
        ("store", "data"), [(None, Path("/srv/x")), ("embedded:/srv/x", None), ("embedded:/srv/x?durability=relaxed", None)]
    )
    def test_objects_and_indexes_lie_beside_the_tables(self, store: str | None, data: Path | None) -> None:
        found = settings_from(None, store=store, data=data)
        assert found.store.startswith("embedded:/srv/x")
        assert (found.data, found.objects) == (Path("/srv/x"), "dir:/srv/x/objects")

    @pytest.mark.parametrize("store", [None, "embedded::memory:", "http://127.0.0.1:1", "embedded:/srv/x/own.db"])
    def test_what_is_not_a_folder_changes_nothing_else(self, store: str | None) -> None:
        found = settings_from(None, store=store, data=None)
        assert (found.data, found.objects) == (Path("./data"), "dir:./data/objects")

    def test_what_the_settings_place_elsewhere_stays_there(self) -> None:
        Path("gateleg.toml").write_text('objects = "s3://bucket/prefix"\n')
        found = settings_from(None, store="embedded:/srv/x", data=None)
        assert (found.data, found.objects) == (Path("/srv/x"), "s3://bucket/prefix")

    def test_a_folder_leaves_the_store_that_the_settings_name(self) -> None:
        """Five processes once ran on private empty databases because `--data` replaced the store of the settings."""
        Path("gateleg.toml").write_text('store = "http://127.0.0.1:1"\nobjects = "s3://bucket"\n')
        found = settings_from(None, data=Path("/srv/x"))
        assert (found.store, found.data, found.objects) == ("http://127.0.0.1:1", Path("/srv/x"), "s3://bucket")

    @pytest.mark.parametrize(("name", "value"), [("data", "/srv/x"), ("store", "embedded:/srv/x"), ("store", "http://127.0.0.1:1")])
    def test_a_flag_a_variable_and_a_line_do_the_same(self, name: str, value: str) -> None:
        flag = load_settings(flags={name: value}).model_dump()
        assert load_settings(environ={f"GATELEG_{name.upper()}": value}).model_dump() == flag
        assert Settings.model_validate({name: value}).model_dump() == flag
        Path("gateleg.toml").write_text(f'{name} = "{value}"\n')
        assert load_settings().model_dump() == flag

    def test_a_place_that_follows_from_another_has_its_origin(self) -> None:
        found = load_settings(environ={"GATELEG_DATA": "/srv/x"})
        assert [found.origin(name) for name in ("data", "store", "objects", "prefix")] == [*["GATELEG_DATA"] * 3, "default"]

    @pytest.mark.parametrize(
        ("setting", "file", "advice"),
        [
            ("store = 'embedded:x'", "secret", ['data = "./data"', 'data = "x"']),
            ("data = 'x'", "gateleg.db", ['store = "embedded:./data"', 'store = "embedded:x"']),
        ],
    )
    def test_files_of_an_earlier_release_are_not_left_behind(self, setting: str, file: str, advice: list[str]) -> None:
        """It kept them in ./data unless the settings placed each of them."""
        Path("gateleg.toml").write_text(setting + "\n")
        assert load_settings().data == Path("x")
        for folder in ("data", "x"):
            Path(folder).mkdir()
        Path("data", file).touch()
        with pytest.raises(BadSettings) as refused:
            load_settings()
        assert all(line in str(refused.value) for line in advice)
        for line in advice:
            Path("gateleg.toml").write_text(f"{setting}\n{line}\n")
            load_settings()
        Path("gateleg.toml").write_text(setting + "\n")
        Path("x", file).touch()
        assert load_settings().data == Path("x")


def test_a_store_that_is_given_beside_a_folder_keeps_its_objects_there(tmp_path: Path) -> None:
    settings = settings_from(None, store="http://127.0.0.1:1", data=tmp_path)
    assert (settings.store, settings.objects) == ("http://127.0.0.1:1", f"dir:{tmp_path / 'objects'}")
