"""Faults of the public system that no other test of ours would find again."""

import logging
from pathlib import Path

import pytest

from gateleg.apps.rag.parsing.parser import parse_here
from gateleg.apps.rag.tables import Collection, Document, IngestionType
from gateleg.model.codec.unchecked import copy_unchecked
from tests.apps.rag.parsing import samples
from tests.apps.rag.served import ROOT, Served


async def test_a_row_that_another_program_wrote_does_not_hide_the_others(served: Served) -> None:
    """A name that our rules refuse: the list of its repository and the one of all repositories have it, and everything beside it."""
    await served.collection("creator", "legal", "Contracts")
    fine = Collection(repository_id="legal", name="Fine", embedding_model="local:minilm", created_by="ann")
    await served.host.store.create(copy_unchecked(fine, {"name": "a/b:  c"}))
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
