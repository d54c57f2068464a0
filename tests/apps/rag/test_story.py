"""A document over HTTP from its upload to its removal: ingested, searched, asked, changed and gone."""

from typing import Any

from tests.apps.rag.served import ROOT, Served

TEXT = "The warranty of the pump lasts three years.\n\nThe contract ends on the last day of June 2027."


async def ready(served: Served, who: str, answer: Any) -> dict[str, Any]:
    """The first document of an answer, once its job has ended."""
    assert answer.status_code == 202, answer.text
    row = answer.json()["jobs"][0]
    await served.work(row["jobId"])
    found: dict[str, Any] = (await served[who].get(f"{ROOT}/papers/document/{row['documentId']}")).json()
    assert found["status"] == "INGESTION_COMPLETED", found
    return found


async def test_document_from_upload_to_removal(served: Served) -> None:
    ann = served["creator"]
    assert (await served["admin"].post(ROOT, json={"repositoryId": "papers", "allowedGroups": ["lawyers"]})).status_code == 201
    await served.collection("creator", "papers", "Contracts", chunkingStrategy={"type": "SENTENCE", "chunkSize": 100})
    # A file as the body of a request.
    sent = await ann.post(
        f"{ROOT}/papers/document",
        params={"collectionId": "Contracts"},
        content=TEXT.encode(),
        headers={"content-disposition": 'attachment; filename="pump.txt"'},
    )
    document = await ready(served, "creator", sent)
    assert (document["document_name"], document["chunks"] >= 1, document["size"]) == ("pump.txt", True, len(TEXT))
    # An uploaded object.
    signed = (await ann.post(f"{ROOT}/papers/presigned-url", json={"name": "b.txt", "collectionId": "Contracts"})).json()
    await served["nobody"].request(signed["response"]["method"], signed["response"]["url"], content=b"Bananas are yellow.")
    bulk = await ann.post(f"{ROOT}/papers/bulk", json={"keys": [signed["key"], "secret/other.txt"], "collectionId": "Contracts"})
    assert [row["status"] for row in bulk.json()["jobs"]] == ["INGESTION_PENDING", "REFUSED"]
    assert (await ready(served, "creator", bulk))["document_id"] == signed["documentId"]
    await search(served, document["document_id"])
    await ask(served)
    await evaluate(served, document["document_id"])
    await change(served, document["document_id"])
    await remove(served, document["document_id"])


async def search(served: Served, document_id: str) -> None:
    found = (await served["lawyer"].post(f"{ROOT}/papers/search", json={"query": "How long is the guarantee of the pump?"})).json()
    assert (found["hits"][0]["documentId"], "warranty" in found["hits"][0]["text"]) == (document_id, True)
    params: dict[str, Any] = {"query": "warranty", "collectionId": "Contracts", "topK": 1, "score": True}
    older = (await served["lawyer"].get(f"{ROOT}/papers/similaritySearch", params=params)).json()
    assert "warranty" in older["docs"][0]["Document"]["page_content"]
    assert older["docs"][0]["Document"]["metadata"]["similarity_score"] > 0
    places = {"query": "warranty", "places": [{"repositoryId": "papers"}, {"repositoryId": "commons"}]}
    assert (await served["lawyer"].post("/api/rag/search", json=places)).json()["hits"][0]["documentId"] == document_id
    assert (await served["outsider"].post("/api/rag/search", json=places)).status_code == 404


async def ask(served: Served) -> None:
    body = {"question": "When does the contract end?", "conversationId": "c1"}
    answer = (await served["lawyer"].post(f"{ROOT}/papers/ask", json=body)).json()
    assert answer["found"]
    assert any("June 2027" in sentence["text"] and sentence["citations"] for sentence in answer["sentences"])
    streamed = await served["lawyer"].post(f"{ROOT}/papers/ask", json=body, headers={"accept": "text/event-stream"})
    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert [line for line in streamed.text.splitlines() if line.startswith("event:")][-1] == "event: answer"
    turns = (await served["lawyer"].get("/api/rag/conversation/c1", params={"limit": 1})).json()
    assert (turns["items"][0]["question"], turns["next"] is None) == (body["question"], False)
    assert (await served["creator"].get("/api/rag/conversation/c1")).status_code == 404
    assert (await served["lawyer"].delete("/api/rag/conversation/c1")).status_code == 204
    assert (await served["lawyer"].delete("/api/rag/conversation/c1")).status_code == 404


async def evaluate(served: Served, document_id: str) -> None:
    where = f"{ROOT}/papers/collections/Contracts"
    body = {"name": "Pumps", "questions": [{"question": "How long is the warranty?", "documents": ["pump.txt"]}]}
    golden = (await served["creator"].post(f"{where}/golden-sets", json=body)).json()
    assert (golden["questions"], golden["origin"]) == (1, "written")
    listed = (await served["lawyer"].get(f"{where}/golden-sets")).json()["items"]
    assert [one["setId"] for one in listed] == [golden["setId"]]
    questions = (await served["lawyer"].get(f"{where}/golden-sets/{golden['setId']}")).json()["items"]
    assert questions[0]["documents"] == [document_id]
    ways = [{"name": "hybrid"}, {"name": "words", "request": {"searchMode": "keyword"}}]
    begun = await served["lawyer"].post(f"{where}/evaluations", json={"setId": golden["setId"], "configurations": ways, "k": 5})
    assert begun.status_code == 202, begun.text
    await served.work(begun.json()["jobId"])
    run = (await served["lawyer"].get(f"{where}/evaluations/{begun.json()['runId']}")).json()
    assert [one["recall"] for one in run["results"]] == [1.0, 1.0]
    assert [one["runId"] for one in (await served["lawyer"].get(f"{where}/evaluations")).json()["items"]] == [run["runId"]]
    assert (await served["lawyer"].delete(f"{where}/golden-sets/{golden['setId']}")).status_code == 403


async def change(served: Served, document_id: str) -> None:
    """What filters see follows the metadata of a document."""
    where = f"{ROOT}/papers/document/{document_id}"
    wanted = {"query": "warranty", "filter": {"kind": "manual"}}
    assert (await served["lawyer"].post(f"{ROOT}/papers/search", json=wanted)).json()["hits"] == []
    changed = (await served["creator"].patch(where, json={"metadata": {"customFields": {"kind": "manual"}}})).json()
    await served.work(changed["jobId"])
    found = (await served["lawyer"].post(f"{ROOT}/papers/search", json=wanted)).json()["hits"]
    assert [hit["documentId"] for hit in found] == [document_id]
    again = await served["creator"].post(f"{where}/reingest", params={"force": "true"})
    assert again.status_code == 202
    await served.work(again.json()["jobId"])
    assert (await served["lawyer"].post(f"{where}/reingest")).status_code == 403


async def remove(served: Served, document_id: str) -> None:
    deleted = await served["creator"].delete(f"{ROOT}/papers/document/{document_id}")
    found = (await served["lawyer"].post(f"{ROOT}/papers/search", json={"query": "warranty of the pump"})).json()
    assert document_id not in {hit["documentId"] for hit in found["hits"]}
    await served.work(deleted.json()["jobId"])
    assert (await served["creator"].get(f"{ROOT}/papers/document/{document_id}")).status_code == 404


async def test_chunks_are_previewed(served: Served) -> None:
    body = {"text": "One. " * 200, "chunkingStrategy": {"type": "sentence", "size": 100, "overlap": 0}}
    found = (await served["outsider"].post("/api/rag/chunking/preview", json=body)).json()
    assert found["count"] > 5
    assert found["longest"] <= 100
    assert found["chunks"][0]["text"].startswith("One.")
    bad = {"text": "x", "chunkingStrategy": {"type": "sentence", "size": 1}}
    assert (await served["outsider"].post("/api/rag/chunking/preview", json=bad)).status_code == 422
