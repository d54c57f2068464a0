"""Files in parts, links for the object store, and who may have them."""

from base64 import b64encode
from typing import Any

import httpx
import pytest

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.drafts import NewRepository
from gateleg.apps.rag.repositories import create_repository
from tests.apps.rag.people import PEOPLE
from tests.apps.rag.served import ROOT, Served

UPLOADS = "/api/rag/uploads/document"


def metadata(**details: str) -> str:
    return ",".join(f"{name} {b64encode(value.encode()).decode()}" for name, value in details.items())


async def begin(client: httpx.AsyncClient, length: int, **details: str) -> httpx.Response:
    return await client.post(UPLOADS, headers={"upload-length": str(length), "upload-metadata": metadata(**details)})


async def append(client: httpx.AsyncClient, place: str, offset: int, content: bytes) -> httpx.Response:
    return await client.patch(place, headers={"upload-offset": str(offset)}, content=content)


async def test_a_file_goes_on_from_where_it_was_broken_off_and_is_ingested(served: Served) -> None:
    lena, text = served["lawyer"], b"The pump weighs twelve kilograms, and the lid is blue."
    collection = await served.collection("creator", "legal", "Contracts", allowedGroups=["lawyers"])
    begun = await begin(lena, len(text), filename="pump.txt", repositoryId="legal", collectionId="Contracts")
    assert begun.status_code == 201, begun.text
    place = begun.headers["location"]
    assert (await append(lena, place, 0, text[:20])).headers["upload-offset"] == "20"
    # The same part again is refused; how far it is can be asked.
    assert (await append(lena, place, 0, text[:20])).status_code == 409
    assert (await lena.head(place)).headers["upload-offset"] == "20"
    assert (await append(lena, place, 20, text[20:])).status_code == 204
    key = (await lena.get(place)).json()["key"]
    assert await served.host.objects.get(key) == text
    answer = await lena.post(f"{ROOT}/legal/bulk", json={"keys": [key], "collectionId": collection})
    assert answer.status_code == 202, answer.text
    (job,) = answer.json()["jobs"]
    await served.work(job["jobId"])
    document = (await lena.get(f"{ROOT}/legal/document/{job['documentId']}")).json()
    assert (document["document_name"], document["status"], document["username"]) == ("pump.txt", "INGESTION_COMPLETED", "lena")


async def test_only_those_who_may_add_to_a_collection_begin_an_upload(served: Served) -> None:
    await served.collection("creator", "legal", "Mine", private=True)
    about = {"filename": "a.txt", "repositoryId": "legal", "collectionId": "Mine"}
    for name, status in {"creator": 201, "admin": 201, "lawyer": 404, "engineer": 404, "outsider": 404, "nobody": 401}.items():
        assert (await begin(served[name], 3, **about)).status_code == status, name
    assert (await begin(served["creator"], 3, filename="a.txt")).status_code == 422


async def test_an_upload_is_its_owners_alone(served: Served) -> None:
    place = (await begin(served["creator"], 3, filename="a.txt", repositoryId="legal")).headers["location"]
    for name in ("lawyer", "namesake", "admin"):
        assert (await served[name].head(place)).status_code == 404, name
        assert (await append(served[name], place, 0, b"abc")).status_code == 404, name


async def test_what_is_larger_than_a_document_may_be_is_refused_at_once(served: Served) -> None:
    most = served.host.resources["rag"].settings.upload_bytes
    assert (await begin(served["creator"], most + 1, filename="a.txt", repositoryId="legal")).status_code == 413


@pytest.mark.parametrize("sent", [{"json": {"name": "Plan A.pdf"}}, {"content": "Plan A.pdf", "headers": {"content-type": "text/plain"}}])
async def test_a_link_is_asked_for_with_json_or_with_the_bare_name(served: Served, sent: dict[str, Any]) -> None:
    found = await served["creator"].post(f"{ROOT}/legal/presigned-url", **sent)
    assert found.status_code == 201, found.text
    assert found.json()["key"].endswith("/source/Plan A.pdf")
    older = await served["creator"].post(f"{ROOT}/presigned-url", params={"repositoryId": "legal"}, **sent)
    assert older.status_code == 201, older.text
    assert (await served["creator"].post(f"{ROOT}/presigned-url", **sent)).status_code == 400
    assert (await served["engineer"].post(f"{ROOT}/presigned-url", params={"repositoryId": "legal"}, **sent)).status_code == 404


async def test_the_id_of_a_collection_may_have_a_slash(served: Served) -> None:
    """The default collection is called like its embedding model."""
    await create_repository(served.host.store, Caller(PEOPLE["admin"]), NewRepository(repository_id="slashed"), "openai:acme/embed-1")
    for word in ("collections", "collection"):
        for written in ("openai:acme/embed-1", "openai%3Aacme%2Fembed-1"):
            found = await served["lawyer"].get(f"{ROOT}/slashed/{word}/{written}")
            assert (found.status_code, found.json()["collectionId"]) == (200, "openai:acme/embed-1")
    one = f"{ROOT}/slashed/collections/openai:acme/embed-1"
    assert (await served["lawyer"].get(f"{one}/access")).json()["readers"]
    assert (await served["lawyer"].get(f"{one}/statistics")).json()["documents"] == 0
    assert (await served["admin"].get(f"{one}/golden-sets")).status_code == 200
    assert (await served["admin"].put(one, json={"description": "All"})).json()["description"] == "All"
    assert (await served["admin"].post(f"{one}/reingest")).status_code == 202
