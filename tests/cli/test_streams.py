"""`gateleg streams`: what somebody types to see and repeat failed changes."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from gateleg.cli import installed
from gateleg.cli.commands import app
from gateleg.jobs.table_streams import FailedChange, stream_table
from gateleg.store import Store


def kept(title: str) -> FailedChange:
    key = {"title": {"S": title}}
    record = {"eventID": f"event-{title}", "eventName": "INSERT", "dynamodb": {"Keys": key, "NewImage": key, "SequenceNumber": "1"}}
    return FailedChange(
        consumer="reels",
        event_id=f"event-{title}",
        handler="shelve",
        table="Tapes",
        record=record,
        error="full",
        attempts=3,
        failed_at=datetime(2026, 1, 2, tzinfo=UTC),
    )


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(installed, "entry_points", lambda group: ())
    (tmp_path / "gateleg.toml").write_text('applications = ["tests.web.console.sample:reels"]\n')
    place = f"embedded:{tmp_path}/data?durability=relaxed"
    with Store.connect(place) as opened:
        opened.ensure_tables(stream_table)
        for title in ("Found", "Lost", "Other"):
            opened.put(kept(title))
    return place


def streams(store: str, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["streams", *arguments, "--store", store])


def test_failed_changes_are_listed_page_by_page(store: str) -> None:
    first = json.loads(streams(store, "failed", "reels", "--limit", "2", "--json").output)
    rest = json.loads(streams(store, "failed", "reels", "--limit", "2", "--after", first["next"], "--json").output)
    assert [one["event_id"] for one in first["items"] + rest["items"]] == ["event-Found", "event-Lost", "event-Other"]
    assert rest["next"] is None
    assert "event-Found  2026-01-02 00:00:00  Tapes, shelve, 3 attempts: full" in streams(store, "failed", "reels").output


def test_failed_changes_are_repeated_one_or_all(store: str) -> None:
    assert "1 repeated, 0 failed again" in streams(store, "repeat", "reels", "--event", "event-Found").output
    left = streams(store, "repeat", "reels")
    assert (left.exit_code, "2 repeated, 1 failed again" in left.output) == (1, True)
    assert [one["event_id"] for one in json.loads(streams(store, "failed", "reels", "--json").output)["items"]] == ["event-Lost"]
    unknown = streams(store, "repeat", "reels", "--event", "nothing")
    assert (unknown.exit_code, "no failed change nothing" in unknown.output) == (1, True)


def test_a_store_whose_streams_nobody_has_consumed_has_no_failed_changes(store: str) -> None:
    with Store.connect(store) as opened:
        opened.transport.call("DeleteTable", {"TableName": stream_table.name})
    assert "No failed changes" in streams(store, "failed", "reels").output


def test_an_application_without_handlers_is_refused(store: str) -> None:
    refused = streams(store, "failed", "nobody")
    assert (refused.exit_code, "use one of reels" in refused.output) == (2, True)
