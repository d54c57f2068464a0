"""A conversation is deleted with all that belongs to it, and nothing else is."""

import asyncio
from pathlib import Path
from uuid import uuid4

import pytest
from typer.testing import CliRunner

from gateleg.apps.delphi.commands import app
from gateleg.apps.delphi.service import TABLES
from gateleg.jobs import Submission
from gateleg.store import AsyncStore
from tests.apps.delphi.served import Served, serving
from tests.apps.delphi.test_commands import _kept


async def rows_of(store: AsyncStore) -> int:
    """The number of items in all tables of Delphi."""
    return sum([len([item async for item in store.scan(table)]) for table in TABLES])


def files_of(folder: Path) -> list[Path]:
    """The files of reports, whatever the object store puts beside their content."""
    return [path for path in (folder / "objects").rglob("*") if path.is_file() and "report.html" in path.name]


async def refused(served: Served, caller: str, status: int) -> None:
    answer = await served[caller].delete("/api/delphi/conversations/town")
    assert answer.status_code == status, answer.text


async def test_nothing_of_a_deleted_conversation_is_left(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        assert await rows_of(served.host.store) > 100
        assert files_of(tmp_path)
        await refused(served, "nobody", 401)
        await refused(served, "stranger", 404)
        await refused(served, "viewer", 403)
        job = (await served.host.queue.submit(Submission("PCA", {}, subject="town"))).job
        await refused(served, "member", 409)
        await served.host.queue.cancel(job.job_id)
        answer = await served["member"].delete("/api/delphi/conversations/town")
        assert answer.status_code == 200, answer.text
        assert answer.json()["runs"] == 3
        assert await rows_of(served.host.store) == 0
        assert files_of(tmp_path) == []
        await refused(served, "member", 404)


def test_a_conversation_that_is_not_there_cannot_be_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = f"embedded:{tmp_path / 'store'}"
    asyncio.run(_kept(store))
    told = CliRunner().invoke(app, ["delete", str(uuid4()), "--yes", "--store", store])
    assert (told.exit_code, "There is no conversation" in told.stderr) == (1, True)
    assert CliRunner().invoke(app, ["delete", "synthetic-1", "--store", store], input="n\n").exit_code == 1
    told = CliRunner().invoke(app, ["delete", "synthetic-1", "--store", store], input="y\n")
    assert (told.exit_code, "deleted: " in told.output) == (0, True)
