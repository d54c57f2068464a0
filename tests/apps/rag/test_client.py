"""The Python client against a host on a socket."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.rag.client import RagClient
from gateleg.apps.rag.errors import JobFailed, RefusedByHost
from gateleg.host import Role
from gateleg.jobs import Worker
from gateleg.net.http import ConnectionLost, HttpRequest, Timeouts
from gateleg.web.server import address_of, listen, serve
from tests.apps.rag.served import Served


@asynccontextmanager
async def listening(served: Served) -> AsyncIterator[str]:
    """The host on a free port, with a worker."""
    settings = served.host.settings
    listener = listen(settings.model_copy(update={"port": 0}))
    stop, ready = asyncio.Event(), asyncio.Event()
    worker = Worker(served.host.queue, concurrency=2)
    running = asyncio.create_task(serve(served.host, served.app, listener, stop=stop, ready=ready.set))
    working = asyncio.create_task(worker.run())
    await ready.wait()
    try:
        yield address_of(listener, settings)
    finally:
        worker.stop()
        stop.set()
        await asyncio.gather(running, working)


def use(url: str, key: str, folder: Path) -> None:
    """Everything that a script does, in a thread of its own."""
    file = folder / "Größe 1.txt"
    file.write_text("The pump weighs twelve kilograms.")
    with RagClient(url, key, sleep=lambda seconds: time.sleep(min(seconds, 0.1))) as client:
        client.create_repository("papers")
        made = client.create_collection("papers", "Contracts", description="All of them")
        for number in range(3):
            client.create_collection("papers", f"c {number}")
        assert {one["name"] for one in client.collections("papers", pageSize=2)} == {"Default", "Contracts", "c 0", "c 1", "c 2"}
        assert [one["name"] for one in client.collections(createdBy="me", filter="contr")] == ["Contracts"]
        assert {one["repositoryId"] for one in client.repositories()} == {"papers", "legal", "commons"}
        changed = client.update_collection("papers", "Contracts", version=made["version"], description=None)
        assert changed["description"] is None
        with pytest.raises(RefusedByHost) as refused:
            client.update_collection("papers", "Contracts", version=made["version"], description="x")
        assert (refused.value.status, refused.value.host_code) == (412, "stale-version")
        with pytest.raises(RefusedByHost, match="There is no collection 'Ähre 1'"):
            client.collection("papers", "Ähre 1")
        _use_documents(client, file)
        client.wait_for(client.delete_collection("papers", "Contracts", hard=True))
        with pytest.raises(RefusedByHost):
            client.collection("papers", "Contracts")
        client.wait_for(client.delete_repository("papers"))
        assert "papers" not in {one["repositoryId"] for one in client.repositories()}


@contextmanager
def breaking_once(client: RagClient) -> Iterator[None]:
    """The connection is lost with the second part."""
    pool, sent = client._http, 0
    open_one = pool.open

    def broken(request: HttpRequest, timeouts: Timeouts) -> Any:
        nonlocal sent
        sent += request.method == "PATCH"
        if request.method == "PATCH" and sent == 2:
            raise ConnectionLost("The connection was lost.")
        return open_one(request, timeouts)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pool, "open", broken)
        yield
    assert sent == 5


def _use_documents(client: RagClient, file: Path) -> None:
    sent = client.upload("papers", file, collection="Contracts")
    (job,) = client.wait_for(sent)
    assert job["status"] == "COMPLETED"
    (document,) = client.documents("papers", "Contracts")
    assert (document["document_name"], document["status"]) == ("Größe 1.txt", "INGESTION_COMPLETED")
    hit = client.search("papers", "How heavy is the pump?", collections=["Contracts"])["hits"][0]
    assert hit["documentId"] == document["document_id"]
    with breaking_once(client):
        parts = client.upload_in_parts("papers", file, collection="Contracts", part=10)
    # The same name of the same person is the same document, and nothing of it has changed.
    assert [one["documentId"] for one in parts["jobs"]] == [document["document_id"]]
    client.wait_for(parts)
    gone = client.delete_documents("papers", [document["document_id"], "nothing"])
    client.wait_for(gone)
    assert [row["status"] for row in gone["jobs"]] == ["DELETE_PENDING", "REFUSED"]


async def test_script_from_the_first_repository_to_its_end(served: Served, tmp_path: Path) -> None:
    key = await served.host.keys.create("ada", Role.ADMIN)
    async with listening(served) as url:
        await asyncio.to_thread(use, url, key.token, tmp_path)


@pytest.fixture
def client() -> Iterator[RagClient]:
    with RagClient("http://127.0.0.1:9", sleep=lambda _: None) as client:
        yield client


def test_job_that_does_not_end_is_given_up(client: RagClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "job", lambda job_id: {"status": "PROCESSING"})
    with pytest.raises(JobFailed, match="in time"):
        client.wait_for("1", seconds=0)
    monkeypatch.setattr(client, "job", lambda job_id: {"status": "FAILED"})
    with pytest.raises(JobFailed, match="FAILED"):
        client.wait_for({"jobs": [{"jobId": "1"}, {"jobId": None}]})
