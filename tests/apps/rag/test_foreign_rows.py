"""Rows that the public system or another program has written to the repositories' and collections' tables."""

from typing import Any

import pytest

from gateleg.ai import ModelSettings
from gateleg.ai.errors import BadModelAddress
from gateleg.host.doctor import examine
from tests.apps.rag.served import ROOT, Served

TITAN = "amazon.titan-embed-text-v1"


async def put(served: Served, table: str, item: dict[str, Any]) -> None:
    await served.host.store.transport.call("PutItem", {"TableName": table, "Item": item})


def repository(repository_id: str, **config: str) -> dict[str, Any]:
    inner = {name: {"S": value} for name, value in {"repositoryId": repository_id, "type": "embedded", **config}.items()}
    return {"repositoryId": {"S": repository_id}, "config": {"M": inner}, "status": {"S": "CREATE_COMPLETE"}}


@pytest.mark.parametrize("bare", [False, True], ids=["without a model", "without a config"])
async def test_a_repository_without_a_model_uses_the_default_one(served: Served, bare: bool) -> None:
    item = repository("plain")
    if bare:
        del item["config"]
    await put(served, "LisaRagVectorStoreTable", item)
    admin, where = served["admin"], f"{ROOT}/plain"
    assert (await admin.get(where)).json()["embeddingModelId"] == "default"
    made = await admin.post(f"{where}/collections", json={"name": "Notes"})
    assert (made.status_code, made.json()["embeddingModel"]) == (201, "default")
    listed = (await admin.get(f"{where}/collections")).json()["collections"]
    assert {row["collectionId"] for row in listed} == {"default", made.json()["collectionId"]}
    for collection in ("default", "Notes"):
        body = {"documents": [{"text": f"The {collection} pump is blue.", "documentName": "a.txt"}], "collectionId": collection}
        sent = await admin.post(f"{where}/ingest", json=body)
        assert sent.status_code == 202, sent.text
        await served.work(sent.json()["jobs"][0]["jobId"])
        found = (await admin.post(f"{where}/search", json={"query": "pump colour", "collectionIds": [collection]})).json()
        assert [hit["text"] for hit in found["hits"]] == [f"The {collection} pump is blue."]
        assert (found["actualModeUsed"], found["note"]) == ("hybrid", None)


async def test_a_bare_bedrock_id_says_what_to_set_and_its_documents_are_found_by_keywords(served: Served) -> None:
    await put(served, "LisaRagVectorStoreTable", repository("seed", embeddingModelId=TITAN))
    admin, where = served["admin"], f"{ROOT}/seed"
    alias = f'[models.aliases] "{TITAN}" = "bedrock:{TITAN}@REGION"'
    assert alias in (await admin.get(f"{where}/collections/default")).json()["warnings"][0]
    sent = (await admin.post(f"{where}/ingest", json={"documents": [{"text": "The pump is blue.", "documentName": "a.txt"}]})).json()
    assert alias in sent["warnings"][0]
    (job,) = sent["jobs"]
    await served.work(job["jobId"])
    document = (await admin.get(f"{where}/document/{job['documentId']}")).json()
    assert (document["status"], document["errorMessage"], document["chunks"]) == ("INGESTION_COMPLETED", None, 1)
    assert alias in document["keywordsOnly"]
    found = (await admin.post(f"{where}/search", json={"query": "pump"})).json()
    assert (found["actualModeUsed"], [hit["text"] for hit in found["hits"]]) == ("keyword", ["The pump is blue."])
    assert "[models.aliases]" in found["note"]
    (line,) = [check.result for check in await examine(served.host) if check.name == "embedding models"]
    assert (line.status, alias in line.message) == ("warning", True)


async def test_an_embedding_model_that_works_later_embeds_what_has_no_vectors(served: Served) -> None:
    await put(served, "LisaRagVectorStoreTable", repository("seed", embeddingModelId=TITAN))
    admin, where = served["admin"], f"{ROOT}/seed"
    sent = (await admin.post(f"{where}/ingest", json={"documents": [{"text": "The pump is blue.", "documentName": "a.txt"}]})).json()
    await served.work(sent["jobs"][0]["jobId"])
    body = {"embeddingModel": "local:minilm"}
    started = await admin.post(f"{where}/collections/default/reembed", json=body)
    assert started.status_code == 202, started.text
    await served.work(started.json()["jobId"])
    document = (await admin.get(f"{where}/document/{sent['jobs'][0]['documentId']}")).json()
    assert document["keywordsOnly"] is None
    found = (await admin.post(f"{where}/search", json={"query": "water machine", "searchMode": "vector"})).json()
    assert [hit["text"] for hit in found["hits"]] == ["The pump is blue."]


def test_an_alias_stands_for_a_model() -> None:
    models = ModelSettings(aliases={TITAN: f"bedrock:{TITAN}@eu-west-1"})
    assert str(models.resolve(TITAN)) == f"bedrock:{TITAN}@eu-west-1"
    assert str(models.resolve_embeddings("default")) == "local:minilm"
    with pytest.raises(BadModelAddress, match="bare model id"):
        ModelSettings().resolve(TITAN)
    with pytest.raises(ValueError, match="nobody"):
        ModelSettings(aliases={"a": "nobody:b"})


async def test_a_knowledge_base_takes_no_collections_and_the_type_of_the_design_does(served: Served) -> None:
    for name, kind in (("kb", "bedrock_knowledge_base"), ("os", "opensearch")):
        item = repository(name)
        item["config"]["M"]["type"] = {"S": kind}
        await put(served, "LisaRagVectorStoreTable", item)
    refused = await served["admin"].post(f"{ROOT}/kb/collections", json={"name": "Notes"})
    assert (refused.status_code, "knowledge base" in refused.json()["error"]["message"]) == (422, True)
    assert (await served["admin"].post(f"{ROOT}/os/collections", json={"name": "Notes"})).status_code == 201
