import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import boto3
import httpx
import pytest
from typer.testing import CliRunner, Result

import gateleg
from gateleg.cli import demo
from gateleg.cli.commands import app
from gateleg.engine import Engine

TABLE = {
    "TableName": "Songs",
    "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
    "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
    "BillingMode": "PAY_PER_REQUEST",
}


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """A server in a process of its own, with the lines it printed when it was ready."""
    command = [sys.executable, "-c", "from gateleg.cli import main; main()", "engine", "serve", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}) as process:
        assert process.stdout is not None
        try:
            yield process, [process.stdout.readline(), process.stdout.readline()]
        finally:
            process.kill()


def test_version() -> None:
    result = run("--version")
    assert (result.exit_code, result.output) == (0, f"gateleg {gateleg.__version__}\n")


def test_help_loads_neither_the_engine_nor_the_endpoint() -> None:
    program = (
        "import sys; from gateleg.cli.commands import app; app(['--help'], standalone_mode=False); "
        "sys.exit(any(name in sys.modules for name in ('apsw', 'orjson', 'boto3', 'uvloop', 'pydantic')))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_serve_says_where_it_is_keeps_what_it_is_given_and_stops_when_told(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / "data"
    with serving("--path", str(folder)) as (process, (ready, hint)):
        url = re.sub(r"^Serving .*gateleg\.db at (http://127\.0\.0\.1:\d+)\n$", r"\1", ready)
        assert httpx.get(url).status_code == 200
        # The line that is printed to be copied works as it is.
        table = eval(hint.strip(), {"boto3": boto3}).create_table(**TABLE)
        table.put_item(Item={"id": "x"})
        process.send_signal(number)
        assert process.wait(30) == 0
    with Engine(str(folder / "gateleg.db")) as engine:
        assert engine.call("Scan", {"TableName": "Songs"})["Items"] == [{"id": {"S": "x"}}]


def test_serve_does_not_print_secrets(tmp_path: Path) -> None:
    with serving("--path", str(tmp_path), "--credentials", "mykey:mysecret", "--host", "0.0.0.0") as (_, lines):
        assert "mykey" in lines[1]
        assert "mysecret" not in "".join(lines)


def test_serve_off_loopback_needs_credentials(tmp_path: Path) -> None:
    result = run("engine", "serve", "--path", str(tmp_path / "data"), "--host", "0.0.0.0")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "--credentials" in result.stderr
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("pair", ["key", ":secret", "key:", "a/b:secret"])
def test_credentials_must_be_a_pair(pair: str) -> None:
    assert run("engine", "serve", "--path", ":memory:", "--credentials", pair).exit_code == 2


@pytest.mark.parametrize("account", ["12", "12345678901x"])
def test_an_account_has_twelve_digits(account: str) -> None:
    result = CliRunner().invoke(app, ["engine", "serve", "--account", account])
    assert result.exit_code == 2
    assert "--account expects twelve digits" in result.stderr


def test_serve_on_a_taken_port_says_so() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        result = run("engine", "serve", "--path", ":memory:", "--port", port)
    assert result.exit_code == 1
    assert result.stderr == f"gateleg: port {port} of 127.0.0.1 is already in use: choose another with --port\n"


@pytest.mark.parametrize("command", ["serve", "check", "compact"])
def test_a_file_of_something_else_is_refused(tmp_path: Path, command: str) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database, but longer than the head of one would be " * 10)
    result = run("engine", command, "--path", str(file))
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "notes.txt" in result.stderr


@pytest.mark.parametrize("command", ["serve", "check", "compact"])
def test_a_database_of_another_program_is_refused(tmp_path: Path, command: str) -> None:
    file = tmp_path / "other.db"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE t(x)")
    result = run("engine", command, "--path", str(file))
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)


@pytest.mark.parametrize("command", ["check", "compact"])
def test_a_file_that_is_not_there_is_not_made(tmp_path: Path, command: str) -> None:
    result = run("engine", command, "--path", str(tmp_path / "none"))
    assert (result.exit_code, result.stderr) == (
        1,
        f"gateleg: there is no database at {tmp_path / 'none' / 'gateleg.db'}: choose its data folder with --path\n",
    )
    assert list(tmp_path.iterdir()) == []


def filled(folder: Path) -> None:
    with Engine(str(folder / "gateleg.db")) as engine:
        engine.call("CreateTable", TABLE)
        for number in range(20):
            engine.call("PutItem", {"TableName": "Songs", "Item": {"id": {"S": str(number)}, "v": {"S": "x" * 10_000}}})


def test_check_of_a_sound_file(tmp_path: Path) -> None:
    filled(tmp_path)
    result = run("engine", "check", "--path", str(tmp_path))
    assert (result.exit_code, result.stdout) == (0, f"{tmp_path / 'gateleg.db'}: no faults found\n")


def test_check_of_a_damaged_file(tmp_path: Path) -> None:
    filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / "gateleg.db", isolation_level=None)) as connection:
        (name,) = connection.execute("SELECT name FROM sqlite_schema WHERE name LIKE 'items_%'").fetchone()
        connection.execute(f"UPDATE {name} SET size = size + 1")
    result = run("engine", "check", "--path", str(tmp_path))
    assert result.exit_code == 1
    assert re.search(r"\d+ faults? found", result.stderr)


def test_compact_gives_space_back(tmp_path: Path) -> None:
    filled(tmp_path)
    with Engine(str(tmp_path / "gateleg.db")) as engine:
        engine.call("DeleteTable", {"TableName": "Songs"})
    result = run("engine", "compact", "--path", str(tmp_path))
    found = re.search(r"([\d,]+) bytes before, ([\d,]+) after", result.stdout)
    assert found is not None
    before, after = (int(text.replace(",", "")) for text in found.groups())
    assert before > 200_000 > after


def test_the_demo_is_loaded_once_and_keeps_what_was_changed() -> None:
    with Engine(":memory:") as engine:
        assert demo.load(engine)
        engine.call("DeleteItem", {"TableName": demo.TABLE, "Key": {"artist": {"S": "Fela Kuti"}, "title": {"S": "Zombie"}}})
        assert not demo.load(engine)
        assert engine.call("Scan", {"TableName": demo.TABLE})["Count"] == 7


def test_a_group_of_commands_is_imported_only_when_it_is_called() -> None:
    program = (
        "import sys; from gateleg.cli.commands import app; app(['engine', 'check', '--help'], standalone_mode=False); "
        "sys.exit('gateleg.cli.tables' in sys.modules or 'gateleg.cli.jobs' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def test_an_engine_opens_without_its_operations() -> None:
    program = (
        "import sys; from gateleg.engine import Engine; engine = Engine(':memory:'); "
        "before = 'gateleg.engine.expressions' in sys.modules; engine.call('ListTables', {}); sys.exit(before)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)


def with_definition(path: Path, sql: str) -> Path:
    """A database with one table of one item, whose definition is edited by SQL."""
    with closing(Engine(path / "gateleg.db", background=False)) as engine:
        engine.call("CreateTable", TABLE)
        engine.call("PutItem", {"TableName": "Songs", "Item": {"id": {"S": "a"}}})
        engine.database.connection.execute(f"UPDATE catalog SET definition = CAST({sql} AS BLOB)")
    return path


def test_a_repair_that_leaves_a_table_out_says_so_and_fails(tmp_path: Path) -> None:
    data = with_definition(tmp_path / "data", "'?'")
    assert "cannot be read" in run("engine", "check", "--path", str(data)).output
    result = run("engine", "repair", "--path", str(data), "--into", str(tmp_path / "new"))
    new = tmp_path / "new" / "gateleg.db"
    assert result.exit_code == 1
    assert f"Songs: 1 item set aside in {new}.aside.jsonl" in result.stdout
    assert "Songs is not in the new database: " in result.stdout
    assert "no item was lost" not in result.output
    assert result.stderr.startswith(f"gateleg: {new} lacks: 1 item of Songs set aside in {new}.aside.jsonl")
    assert '"item":{"id":{"S":"a"}}' in Path(f"{new}.aside.jsonl").read_text()


def test_a_repair_of_a_renamed_field_brings_all_and_succeeds(tmp_path: Path) -> None:
    data = with_definition(tmp_path / "data", "replace(definition, '\"namespace\"', '\"another\"')")
    result = run("engine", "repair", "--path", str(data), "--into", str(tmp_path / "new"))
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "Songs: 1 item saved"
    assert result.stdout.splitlines()[-1].endswith("all tables and backups are in it, and no item was lost")
