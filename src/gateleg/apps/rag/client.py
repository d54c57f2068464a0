"""A client of `/api/rag` for scripts and notebooks. It iterates over all pages of a list and waits for jobs.

    with RagClient("http://127.0.0.1:8000", key="...") as client:
        client.create_collection("papers", "Contracts")
        for one in client.wait_for(client.upload("papers", Path("contract.pdf"), collection="Contracts")):
            print(one["status"])
        for hit in client.search("papers", "when does the contract end")["hits"]:
            print(hit["documentName"], hit["page"], hit["text"])

If the host refuses a request, the client raises `RefusedByHost` with the host's code, message and fix. A client is safe to use from several
threads.
"""

from __future__ import annotations

import time
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import quote, urlencode

import orjson

from gateleg.apps.rag.errors import JobFailed, RefusedByHost
from gateleg.net.http import Client, HttpError, HttpRequest, Timeouts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Json = dict[str, Any]
_ENDED = ("COMPLETED", "FAILED", "CANCELLED")
#: Timeout for each read from the connection.
_READ_SECONDS = 60.0
#: The path for resumable uploads, the default part size in bytes, and the pauses between attempts to send a part.
_UPLOADS, _PART_BYTES, _RETRY_PAUSES = "/api/rag/uploads/document", 8 << 20, (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
#: The first and the longest interval between two polls of a job, in seconds.
_POLL_SECONDS = (0.1, 2.0)


class RagClient:
    """A client of a host, authenticated by an API key."""

    def __init__(self, url: str, key: str | None = None, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.url = url.rstrip("/")
        self._key = key
        self._http = Client()
        self._sleep = sleep

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    # Repositories

    def repositories(self) -> Iterator[Json]:
        """All repositories that the caller can read."""
        path: str | None = "/api/rag/repository"
        while path is not None:
            found, headers = self._request("GET", path)
            yield from found
            link = headers.get("link", "")
            path = link[1 : link.index(">")] if link else None

    def repository(self, repository: str) -> Json:
        """Read a repository."""
        return self._json("GET", _path(repository))

    def create_repository(self, repository: str, **fields: Any) -> Json:
        """Create a repository. Fields have the API's names, such as `allowedGroups=["legal"]`."""
        return self._json("POST", "/api/rag/repository", body={"repositoryId": repository, **fields})

    def delete_repository(self, repository: str) -> Json:
        """Start a job that deletes a repository and everything in it; pass the result to `wait_for`."""
        return self._json("DELETE", _path(repository))

    # Collections

    def collections(self, repository: str | None = None, **filters: Any) -> Iterator[Json]:
        """The readable collections of a repository, or of all repositories.

        Filters are `filter`, `status`, `tag`, `sortBy`, `sortOrder` and, without a repository, `createdBy="me"`.
        """
        path = "/api/rag/repository/collections" if repository is None else _path(repository, "collections")
        return self._pages(path, "collections", "lastEvaluatedKey", filters)

    def collection(self, repository: str, collection: str) -> Json:
        """Read a collection by its id or name."""
        return self._json("GET", _path(repository, "collections", collection))

    def create_collection(self, repository: str, name: str, **fields: Any) -> Json:
        """Create a collection. Fields have the API's names, such as `private=True`."""
        return self._json("POST", _path(repository, "collections"), body={"name": name, **fields})

    def update_collection(self, repository: str, collection: str, *, version: int | None = None, **fields: Any) -> Json:
        """Change fields of a collection; None clears a field. If `version` is given, the collection must still have that version."""
        headers = {} if version is None else {"if-match": f'"{version}"'}
        return self._json("PUT", _path(repository, "collections", collection), body=fields, headers=headers)

    def delete_collection(self, repository: str, collection: str, *, hard: bool = False) -> Json:
        """Delete a collection; it can be restored. With `hard`, start a job that removes it for good; pass the result to `wait_for`."""
        return self._json("DELETE", _path(repository, "collections", collection), {"hardDelete": "true" if hard else "false"})

    def reembed_collection(self, repository: str, collection: str, embedding_model: str) -> Json:
        """Start a job that embeds a collection with another model. Searches use the old vectors until all new ones are ready."""
        return self._json("POST", _path(repository, "collections", collection, "reembed"), body={"embeddingModel": embedding_model})

    # Documents

    def documents(self, repository: str, collection: str | None = None, **filters: Any) -> Iterator[Json]:
        """The readable documents of a collection, or of a repository, newest first."""
        wanted = filters if collection is None else {**filters, "collectionId": collection}
        return self._pages(_path(repository, "document"), "documents", "lastEvaluated", wanted)

    def document(self, repository: str, document: str) -> Json:
        """Read a document."""
        return self._json("GET", _path(repository, "document", document))

    def upload(self, repository: str, file: Path | bytes, *, name: str | None = None, collection: str | None = None) -> Json:
        """Upload a file and start its ingestion; pass the result to `wait_for`."""
        content, called = (file.read_bytes(), name or file.name) if isinstance(file, Path) else (file, name or "document")
        headers = {
            "content-type": "application/octet-stream",
            "content-disposition": f"attachment; filename*=utf-8''{quote(called, safe='')}",
        }
        params = {} if collection is None else {"collectionId": collection}
        found, _ = self._request("POST", _path(repository, "document"), params, content, headers)
        return dict(found)

    def upload_in_parts(self, repository: str, file: Path, *, collection: str | None = None, part: int = _PART_BYTES) -> Json:
        """Upload a large file in parts of `part` bytes and start its ingestion; pass the result to `wait_for`.

        If the connection breaks or the host restarts, the upload resumes where it stopped.
        """
        details = {"filename": file.name, "repositoryId": repository, **({} if collection is None else {"collectionId": collection})}
        metadata = ",".join(f"{name} {b64encode(value.encode()).decode()}" for name, value in details.items())
        size = file.stat().st_size
        _, begun = self._request("POST", _UPLOADS, headers={"upload-length": str(size), "upload-metadata": metadata})
        place, offset = begun["location"], 0
        with file.open("rb") as content:
            while offset < size:
                content.seek(offset)
                offset = self._send_part(place, offset, content.read(part))
        done = self._json("GET", place)
        return self._json("POST", _path(repository, "bulk"), body={"keys": [done["key"]], "collectionId": collection})

    def _send_part(self, place: str, offset: int, content: bytes) -> int:
        """Send a part and return the new offset. If the connection breaks, return the offset that the host reports, which may be lower."""
        headers = {"upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
        for pause in _RETRY_PAUSES:
            try:
                return int(self._request("PATCH", place, body=content, headers=headers)[1]["upload-offset"])
            except HttpError:
                self._sleep(pause)
                with suppress(HttpError):
                    return int(self._request("HEAD", place)[1]["upload-offset"])
        raise JobFailed(
            "The connection broke on every attempt to upload a part.", fix="Check that the host is reachable, and upload again."
        )

    def ingest(self, repository: str, documents: Sequence[Mapping[str, Any]], *, collection: str | None = None) -> Json:
        """Start the ingestion of texts (`text`, `documentName`), URLs (`url`), chunks or uploaded keys; pass the result to `wait_for`."""
        body = {"documents": [dict(one) for one in documents], "collectionId": collection}
        return self._json("POST", _path(repository, "ingest"), body=body)

    def update_document(self, repository: str, document: str, **fields: Any) -> Json:
        """Change the metadata or the name of a document."""
        return self._json("PATCH", _path(repository, "document", document), body=fields)

    def delete_documents(self, repository: str, documents: Sequence[str]) -> Json:
        """Start the deletion of documents; the result has an outcome for each. Pass it to `wait_for`."""
        return self._json("DELETE", _path(repository, "document"), body={"documentIds": list(documents)})

    def download_url(self, repository: str, document: str, content_hash: str | None = None) -> str:
        """A short-lived link to the file of a document, or to the version of it that a hit names as its `contentHash`."""
        params = {} if content_hash is None else {"contentHash": content_hash}
        found, _ = self._request("GET", _path(repository, "document", document, "download"), params)
        return found if str(found).startswith("http") else f"{self.url}{found}"

    # Searches

    def search(self, repository: str, query: str, *, collections: Sequence[str] = (), **options: Any) -> Json:
        """Search collections, or all that the caller may search. Options have the API's names, such as `topK` and `filter`."""
        body = {"query": query, "collectionIds": list(collections), **options}
        return self._json("POST", _path(repository, "search"), body=body)

    def ask(self, repository: str, question: str, *, collections: Sequence[str] = (), **options: Any) -> Json:
        """Answer a question; each sentence cites the passages that support it."""
        body = {"question": question, "collectionIds": list(collections), **options}
        return self._json("POST", _path(repository, "ask"), body=body)

    # Jobs

    def job(self, job_id: str) -> Json:
        """Read a job with its progress, result or error."""
        return self._json("GET", f"/api/rag/jobs/{quote(job_id, safe='')}")

    def wait_for(self, started: str | Mapping[str, Any], *, seconds: float = 600.0) -> list[Json]:
        """Wait until the jobs of a response, or the job with an id, have ended, and return them. Raise `JobFailed` if one has failed.

        Documents that were refused have no job: see the rows of the response.
        """
        ends = time.monotonic() + seconds
        return [self._await_job(job_id, ends) for job_id in _job_ids(started)]

    def _await_job(self, job_id: str, ends: float) -> Json:
        pause, longest = _POLL_SECONDS
        while (found := self.job(job_id))["status"] not in _ENDED:
            if time.monotonic() >= ends:
                raise JobFailed(f"The job {job_id} has not ended in time.", fix="Wait longer, or read its log.")
            self._sleep(pause)
            pause = min(pause * 1.5, longest)
        if found["status"] != "COMPLETED":
            raise JobFailed(f"The job {job_id} is {found['status']}.", fix=f"See {self.url}/api/rag/jobs/{job_id}/logs.")
        return found

    # Requests

    def _pages(self, path: str, rows: str, token: str, params: Mapping[str, Any]) -> Iterator[Json]:
        asked: Json = {"pageSize": 100, **params}
        while True:
            found = self._json("GET", path, asked)
            yield from found[rows]
            if found[token] is None:
                return
            asked["lastEvaluatedKey"] = found[token]

    def _json(
        self, method: str, path: str, params: Mapping[str, Any] | None = None, *, body: Any = None, headers: Mapping[str, str] | None = None
    ) -> Json:
        content = b"" if body is None else orjson.dumps(body)
        sent = {**({} if body is None else {"content-type": "application/json"}), **(headers or {})}
        found, _ = self._request(method, path, params, content, sent)
        return dict(found)

    def _request(
        self, method: str, path: str, params: Mapping[str, Any] | None = None, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[Any, dict[str, str]]:
        url = f"{self.url}{path}" + (f"?{urlencode(params)}" if params else "")
        known = {} if self._key is None else {"authorization": f"Bearer {self._key}"}
        request = HttpRequest(url, body, {"accept": "application/json", **known, **(headers or {})}, method)
        answer = self._http.open(request, Timeouts(read=_READ_SECONDS))
        content = b"".join(iter(lambda: answer.receive(_READ_SECONDS), b""))
        found = orjson.loads(content) if content else None
        if answer.status >= 400:
            raise RefusedByHost.of(answer.status, found)
        return found, answer.headers


def _path(repository: str, *parts: str) -> str:
    return "/".join(("/api/rag/repository", *(quote(part, safe="") for part in (repository, *parts))))


def _job_ids(started: str | Mapping[str, Any]) -> list[str]:
    if isinstance(started, str):
        return [started]
    rows = started.get("jobs", [started])
    return list(dict.fromkeys(str(row["jobId"]) for row in rows if row.get("jobId")))
