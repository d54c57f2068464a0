"""Faults of the public system that no other test of ours would find again."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateleg.ai.chat_requests import Purpose
from gateleg.ai.providers.local import LocalEmbeddings
from gateleg.apps.rag.answering.answer_stream import AskRequest
from gateleg.apps.rag.answering.service import ask_once
from gateleg.apps.rag.ingesting.submission import NewDocument
from gateleg.apps.rag.parsing.parser import parse_here
from gateleg.apps.rag.searching.requests import SearchRequest
from gateleg.apps.rag.searching.service import SearchScope, search
from gateleg.apps.rag.tables import Collection, Document, DocumentStatus, IngestionType
from gateleg.host import Principal, Role
from tests.apps.rag.ingesting.library import open_library
from tests.apps.rag.parsing import samples
from tests.apps.rag.served import ROOT, Served


async def test_a_row_that_another_program_wrote_does_not_hide_the_others(served: Served) -> None:
    """A name that our rules refuse: the list of its repository and the one of all repositories have it, and everything beside it."""
    await served.collection("creator", "legal", "Contracts")
    fine = Collection(repository_id="legal", name="Fine", embedding_model="local:minilm", created_by="ann")
    await served.host.store.create(fine.model_copy(update={"name": "a/b:  c"}))
    for path in ("/legal/collections", "/collections"):
        answer = await served["lawyer"].get(ROOT + path)
        assert answer.status_code == 200, answer.text
        assert {"Contracts", "a/b:  c"} <= {row["name"] for row in answer.json()["collections"]}


async def test_neither_queries_nor_texts_are_logged(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    collection = await served.collection("creator", "legal", "Contracts")
    await served.document("legal", collection, text="The zanzibar clause")
    body = {"searchMode": "keyword", "collectionIds": [collection]}
    found = await served["lawyer"].post(f"{ROOT}/legal/search", json={"query": "zanzibar clause", **body})
    assert found.json()["hits"]
    params = {"query": "zanzibar", "collectionId": collection, "searchMode": "keyword"}
    assert (await served["lawyer"].get(f"{ROOT}/legal/similaritySearch", params=params)).json()["docs"]
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("gateleg")]
    assert not [line for line in ours if "zanzibar" in line]


@pytest.mark.parametrize("name", ["REPORT.PDF", "report.Pdf", "report"])
def test_a_file_is_told_by_its_content_and_not_by_the_case_of_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(samples.pdf([["The tide is high."]]))
    assert "The tide is high." in parse_here(path, name).text


async def test_files_that_a_pipeline_found_stay_when_their_collection_goes(served: Served) -> None:
    collection = await served.collection("creator", "legal", "Inbox")
    await served.host.objects.put("inbox/a.txt", b"theirs")
    made = await served.document("legal", collection, "a.txt", ingestion_type=IngestionType.EXISTING)
    await served.host.store.patch(made, Document.source.set("inbox/a.txt"))
    started = await served["creator"].delete(f"{ROOT}/legal/collections/{collection}", params={"hardDelete": "true"})
    await served.work(started.json()["jobId"])
    assert (await served["lawyer"].get(f"{ROOT}/legal/document/{made.document_id}")).status_code == 404
    assert await served.host.objects.get("inbox/a.txt") == b"theirs"


async def test_a_repository_goes_with_more_than_a_hundred_collections(served: Served) -> None:
    await served.repository("large")
    rows = [
        Collection(repository_id="large", name=f"c {number}", embedding_model="local:minilm", created_by="ann") for number in range(101)
    ]
    for row in rows:
        await served.host.store.create(row)
    started = await served["admin"].delete(f"{ROOT}/large")
    await served.work(started.json()["jobId"])
    left = [row async for row in served.host.store.export(Collection) if row.repository_id == "large"]
    assert left == []
    assert (await served["admin"].get(f"{ROOT}/large")).status_code == 404


async def test_models_are_told_documents_from_questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that embed both in different ways need to know which is which: by ingestions, new vectors, searches and answers."""
    told: list[tuple[str, str]] = []
    embed = LocalEmbeddings.embed

    def listening(self: LocalEmbeddings, texts: Sequence[str], purpose: Purpose, deadline: Any) -> Any:
        told.extend((purpose, text) for text in texts)
        return embed(self, texts, purpose, deadline)

    monkeypatch.setattr(LocalEmbeddings, "embed", listening)
    text, question = "The pump moves water to the boiler.", "What moves the water?"
    async with open_library(tmp_path) as library:
        document, _ = await library.ingest(NewDocument(text=text, name="pump.txt"))
        assert document.status is DocumentStatus.COMPLETED
        assert told == [("document", text)]
        told.clear()
        places, ada = [SearchScope("books", library.collection_id)], Principal("ada", Role.ADMIN)
        assert (await search(library.resources, ada, places, SearchRequest(query="water"))).hits
        assert told == [("query", "water")]
        told.clear()
        assert (await ask_once(library.resources, ada, places, AskRequest(question=question))).found
        assert {purpose for purpose, one in told if one == question} == {"query"}
        assert {purpose for purpose, one in told if one != question} <= {"document"}


async def pages(client: httpx.AsyncClient, path: str, rows: str, token: str, **params: str) -> list[dict[str, Any]]:
    """All rows of a list, two on each page."""
    found: list[dict[str, Any]] = []
    for _ in range(20):
        answer = await client.get(path, params={"pageSize": "2", **params})
        assert answer.status_code == 200, answer.text
        found += answer.json()[rows]
        if answer.json()[token] is None:
            return found
        params["lastEvaluatedKey"] = answer.json()[token]
    raise AssertionError("the pages do not end")


async def test_members_page_through_documents_and_jobs_to_the_end(served: Served) -> None:
    """The engine refuses start keys that DynamoDB refuses, so each page has been read from a good one."""
    collection = await served.collection("creator", "legal", "Contracts")
    other = await served.collection("creator", "legal", "Others")
    own = [await served.document("legal", collection, f"{number}.txt", upload_date=number // 2) for number in range(5)]
    await served.document("legal", other, "other.txt")
    wanted = {row.document_id for row in own}
    for who in ("lawyer", "creator", "admin"):
        found = await pages(served[who], f"{ROOT}/legal/document", "documents", "lastEvaluated", collectionId=collection)
        assert len(found) == 5, who
        assert {row["document_id"] for row in found} == wanted, who
    jobs = [(await served["creator"].post(f"{ROOT}/legal/collections/{collection}/reingest")).json()["jobId"] for _ in range(5)]
    found = await pages(served["creator"], f"{ROOT}/legal/jobs", "jobs", "lastEvaluatedKey")
    assert sorted(row["job_id"] for row in found) == sorted(jobs)
    assert await pages(served["lawyer"], f"{ROOT}/legal/jobs", "jobs", "lastEvaluatedKey") == []
