"""Every way to read documents leaves an entry in the audit log: who, what and of which collection, and not the question."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.rag.tools import rag_tools
from gateleg.host.tables import AuditEntry
from tests.apps.rag.people import PEOPLE
from tests.apps.rag.served import ROOT, Served, serving

SECRET = "merger price zebra"


async def entries(served: Served, actor: str) -> list[AuditEntry]:
    page = await served.host.audit.page(actor=actor, limit=100)
    return [entry for entry in reversed(page.items) if entry.action in ACTIONS]


ACTIONS = {"rag.search", "rag.ask", "rag.download", "rag.read-chunks", "rag.read-page"}


async def read_everything(served: Served, document_id: str) -> None:
    """Search, ask and read in each way that there is."""
    lawyer, repository = served["lawyer"], f"{ROOT}/legal"
    for answer in (
        await lawyer.post(f"{repository}/search", json={"query": SECRET, "collectionIds": ["default"]}),
        await lawyer.get(f"{repository}/similaritySearch", params={"query": SECRET}),
        await lawyer.post(f"{repository}/ask", json={"question": SECRET, "collectionIds": ["default"]}),
        await lawyer.post(f"{repository}/ask", json={"question": SECRET}, headers={"accept": "text/event-stream"}),
        await lawyer.get(f"{repository}/document/{document_id}/download"),
        await lawyer.get(f"{repository}/document/{document_id}/chunks"),
    ):
        assert answer.status_code == 200, answer.text
    tools = {tool.name: tool for tool in rag_tools(served.host.resources["rag"])}
    where = {"repository": "legal", "collection": "default"}
    for name, text in (("search", "query"), ("ask", "question")):
        tool: Any = tools[name]
        await tool.call(PEOPLE["lawyer"], tool.input.model_validate({**where, text: SECRET}))


@pytest.fixture
async def spoken(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path, audit_queries=True) as served:
        await served.repository("legal", allowedGroups=["lawyers", "partners"])
        yield served


async def test_searches_questions_and_downloads_are_in_the_audit_log(served: Served) -> None:
    document = await served.document("legal", "local:minilm")
    await read_everything(served, document.document_id)
    found = await entries(served, PEOPLE["lawyer"].name)
    counted = {action: [entry.action for entry in found].count(action) for action in ACTIONS}
    assert counted == {"rag.search": 3, "rag.ask": 3, "rag.download": 1, "rag.read-chunks": 1, "rag.read-page": 0}
    for entry in found:
        assert entry.target.startswith("legal"), entry
        assert SECRET not in entry.model_dump_json(), entry
    (download,) = [entry for entry in found if entry.action == "rag.download"]
    assert download.target == f"legal/local:minilm/{document.document_id}"
    assert download.details["content_hash"] == document.content_hash
    searched = next(entry for entry in found if entry.action == "rag.search")
    assert searched.details["collections"] == ["legal/local:minilm"]


async def test_what_is_refused_is_no_read(served: Served) -> None:
    document = await served.document("legal", "local:minilm")
    for path in ("download", "chunks"):
        assert (await served["engineer"].get(f"{ROOT}/legal/document/{document.document_id}/{path}")).status_code == 404
    assert await entries(served, PEOPLE["engineer"].name) == []


async def test_a_setting_adds_the_text(spoken: Served) -> None:
    document = await spoken.document("legal", "local:minilm")
    await read_everything(spoken, document.document_id)
    found = await entries(spoken, PEOPLE["lawyer"].name)
    assert {entry.details.get("text") for entry in found if entry.action in ("rag.search", "rag.ask")} == {SECRET}


async def test_a_setting_leaves_reads_out(tmp_path: Path) -> None:
    async with serving(tmp_path, audit_reads=False) as quiet:
        await quiet.repository("legal", allowedGroups=["lawyers", "partners"])
        document = await quiet.document("legal", "local:minilm")
        await read_everything(quiet, document.document_id)
        assert await entries(quiet, PEOPLE["lawyer"].name) == []
