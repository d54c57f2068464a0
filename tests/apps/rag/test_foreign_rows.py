"""Rows that the public system or another program has written to the repositories' and collections' tables."""

from typing import Any

import pytest

from gateleg.ai import ModelSettings
from gateleg.ai.errors import BadModelAddress
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


async def test_a_bare_bedrock_id_says_what_to_set_and_keywords_are_searched(served: Served) -> None:
    await put(served, "LisaRagVectorStoreTable", repository("seed", embeddingModelId=TITAN))
    admin, where = served["admin"], f"{ROOT}/seed"
    sent = await admin.post(f"{where}/ingest", json={"documents": [{"text": "The pump is blue.", "documentName": "a.txt"}]})
    (job,) = sent.json()["jobs"]
    await served.work(job["jobId"])
    document = (await admin.get(f"{where}/document/{job['documentId']}")).json()
    assert document["status"] == "INGESTION_FAILED"
    assert f'[models.aliases] "{TITAN}" = "bedrock:{TITAN}@REGION"' in document["errorMessage"]
    await served.document("seed", TITAN, text="The pump is blue")
    found = (await admin.post(f"{where}/search", json={"query": "pump"})).json()
    assert (found["actualModeUsed"], len(found["hits"])) == ("keyword", 2)
    assert "[models.aliases]" in found["note"]


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
