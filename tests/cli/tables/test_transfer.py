"""Export and import."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gateleg.model import Table
from gateleg.store import Store
from gateleg.store.transports import ServiceError
from gateleg.store.transports.embedded import EmbeddedTransport
from tests.cli.tables.commands import TableCommands


@pytest.mark.parametrize("options", [[], ["--plain"]], ids=["dynamodb", "plain"])
def test_what_is_exported_can_be_imported(filled: TableCommands, options: list[str]) -> None:
    filled.run("apply", "--prefix", "copy-")
    for table in ("DelphiJobQueue", "MVProjects", "LisaRagCollectionsTable"):
        lines = filled.run("export", table, *options).stdout
        assert filled.run("import", table, "--prefix", "copy-", *options, input=lines).exit_code == 0
        again = filled.run("export", table, "--prefix", "copy-", *options).stdout
        assert sorted(again.splitlines()) == sorted(lines.splitlines())


def test_one_bad_line_and_nothing_is_imported(filled: TableCommands) -> None:
    good = filled.run("export", "DelphiJobQueue").stdout
    filled.run("apply", "--prefix", "copy-")
    refused = filled.run("import", "DelphiJobQueue", "--prefix", "copy-", input=good + '{"Item": {"job_id": {"S": "x"}}}\n')
    assert refused.exit_code == 1
    assert "line 6: " in refused.stderr
    assert "nothing was written" in refused.stderr
    assert filled.run("export", "DelphiJobQueue", "--prefix", "copy-").stdout == ""


def test_checking_an_import_writes_nothing(filled: TableCommands) -> None:
    good = filled.run("export", "DelphiJobQueue").stdout
    filled.run("apply", "--prefix", "copy-")
    assert filled.run("import", "DelphiJobQueue", "--prefix", "copy-", "--check", input=good).stderr == "5 items, no problems\n"
    assert filled.run("export", "DelphiJobQueue", "--prefix", "copy-").stdout == ""


def test_an_import_goes_on_from_a_line(filled: TableCommands) -> None:
    good = filled.run("export", "DelphiJobQueue").stdout
    filled.run("apply", "--prefix", "copy-")
    filled.run("import", "DelphiJobQueue", "--prefix", "copy-", "--from-line", "4", input=good)
    assert len(filled.run("export", "DelphiJobQueue", "--prefix", "copy-").stdout.splitlines()) == 2


class Failing:
    """The embedded transport, until an operation has been called a number of times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, operation: str, times: int) -> None:
        original = EmbeddedTransport.call
        left = [times]

        def call(transport: EmbeddedTransport, name: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
            if name == operation:
                left[0] -= 1
                if left[0] < 0:
                    raise ServiceError("InternalServerError", "out of order", status=500)
            return original(transport, name, request, timeout=timeout)

        monkeypatch.setattr(EmbeddedTransport, "call", call)


def test_an_import_that_fails_says_what_is_loaded_and_how_to_go_on(home: TableCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = home.run("export", "DelphiJobQueue").stdout
    monkeypatch.setattr("gateleg.ops.transfer.CHUNK", 2)
    with monkeypatch.context() as broken:
        Failing(broken, "BatchWriteItem", 2)
        failed = home.run("import", "DelphiJobQueue", input=lines)
    assert failed.exit_code == 1
    assert "lines up to 4 are loaded" in failed.stderr
    assert "--from-line 5" in failed.stderr
    assert home.run("import", "DelphiJobQueue", "--from-line", "5", input=lines).exit_code == 0


def exporting(folder: Path, **more: Any) -> subprocess.Popen[bytes]:
    """An export of a table with many items of many scripts, in a process of its own."""
    table = Table("scripts", hash="id")
    with Store.connect(f"embedded:{folder}") as store:
        store.create_tables(table)
        for number in range(0, 3000, 25):
            puts = [{"PutRequest": {"Item": {"id": {"S": f"日本é {number + one}"}}}} for one in range(25)]
            store.transport.call("BatchWriteItem", {"RequestItems": {"scripts": puts}})
    command = [sys.executable, "-m", "gateleg", "tables", "export", "scripts", "--store", f"embedded:{folder}"]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    start: Any = subprocess.Popen
    process: subprocess.Popen[bytes] = start(command, stderr=subprocess.PIPE, env=environment, cwd=folder, **more)
    return process


def test_an_export_is_utf8_whatever_the_terminal_takes(tmp_path: Path) -> None:
    lines, _ = exporting(tmp_path, stdout=subprocess.PIPE).communicate()
    assert {json.loads(line)["Item"]["id"]["S"] for line in lines.splitlines()} == {f"日本é {number}" for number in range(3000)}


def test_an_export_whose_reader_has_enough_ends_without_a_word(tmp_path: Path) -> None:
    with exporting(tmp_path, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
def test_an_export_that_finds_no_room_says_that_it_is_not_whole(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        _, words = exporting(tmp_path, stdout=full).communicate()
    assert b"No space left" in words
    assert b"export again" in words


def test_an_export_that_fails_goes_on_with_its_cursor(home: TableCommands, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = home.run("export", "DelphiJobQueue").stdout.splitlines()
    # The service decides how long a page is: here, two items.
    original = EmbeddedTransport.call

    def short(transport: EmbeddedTransport, name: str, request: dict[str, Any], *, timeout: float | None = None) -> dict[str, Any]:
        return original(transport, name, request | ({"Limit": 2} if name == "Scan" else {}), timeout=timeout)

    monkeypatch.setattr(EmbeddedTransport, "call", short)
    with monkeypatch.context() as broken:
        Failing(broken, "Scan", 1)
        failed = home.run("export", "DelphiJobQueue")
    assert failed.exit_code == 1
    assert failed.stdout.splitlines() == whole[:2]
    cursor = failed.stderr.split("--cursor ")[1].strip()
    assert home.run("export", "DelphiJobQueue", "--cursor", cursor).stdout.splitlines() == whole[2:]
