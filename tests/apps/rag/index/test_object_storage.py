"""A host whose search indexes lie in a bucket of a real S3 server: rights hold, a lost index is filled again, deletion leaves nothing."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.apps.rag.index.test_laws import bucket
from tests.apps.rag.served import ROOT, Served, serving
from tests.objects.s3.servers import CREDENTIALS

__all__ = ["bucket"]
pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(find_spec("lancedb") is None, reason="LanceDB is not installed: gateleg[rag-s3]"),
]


async def found(served: Served, who: str, collection_id: str) -> tuple[int, list[str]]:
    body = {"query": "zanzibar", "searchMode": "keyword", "collectionIds": [collection_id]}
    answer = await served[who].post(f"{ROOT}/legal/search", json=body)
    return answer.status_code, [hit["documentId"] for hit in answer.json().get("hits", [])]


async def test_indexes_in_a_bucket(tmp_path: Path, bucket: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    url, folder = bucket
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", CREDENTIALS.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CREDENTIALS.secret)
    where: dict[str, Any] = {"index": "s3://indexes/host", "index_endpoint": url, "index_region": "us-east-1"}
    async with serving(tmp_path, **where) as served:
        await served.repository("legal", allowedGroups=["lawyers", "partners"])
        collection_id = await served.collection("creator", "legal", "Islands", allowedGroups=["partners"])
        document = await served.document("legal", collection_id, text="zanzibar")
        assert await found(served, "partner", collection_id) == (200, [document.document_id] * 2)
        assert (await found(served, "lawyer", collection_id))[0] == 404
        assert (await found(served, "outsider", collection_id))[0] == 404
        # The chunks table is the truth: an index that is lost is filled from it, with the present generation alone.
        served.indexes.open("legal", collection_id).drop()
        assert await found(served, "partner", collection_id) == (200, [document.document_id] * 2)
        assert served.indexes.open("legal", collection_id).counts() == {(document.document_id, 2): 2}
        assert [path for path in (folder / "host").rglob("*") if path.is_file()]
        answer = await served["creator"].delete(f"{ROOT}/legal/collections/{collection_id}", params={"hardDelete": True})
        await served.work(answer.json()["jobId"])
        assert [path for path in (folder / "host").rglob("*") if path.is_file()] == []
        assert not (tmp_path / "apps" / "rag" / "index").exists()
