"""A client of `/api/rag` for scripts and notebooks: typed verbs, iterators over all pages, and waiting for jobs.

    with RagClient("http://127.0.0.1:8000", key="...") as client:
        client.create_collection("papers", "Contracts")
        for one in client.wait_for(client.upload("papers", Path("contract.pdf"), collection="Contracts")):
            print(one["status"])
        for hit in client.search("papers", "when does the contract end")["hits"]:
            print(hit["documentName"], hit["page"], hit["text"])

What the host refuses is raised as a `RefusedByHost` with the host's code, message and fix. One client may be used by several threads.
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
_PIECE_SECONDS = 60.0
#: Where uploads in parts begin, how many bytes a part has, and the seconds to wait for a host that does not answer.
_UPLOADS, _PART, _PAUSES = "/api/rag/uploads/document", 8 << 20, (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
#: Seconds between two looks at a job: the first, and the longest.
_LOOKS = (0.1, 2.0)


class RagClient:
    """Speaks to a host in the name of an API key."""

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
            found, headers = self._ask("GET", path)
            yield from found
            link = headers.get("link", "")
            path = link[1 : link.index(">")] if link else None

    def repository(self, repository: str) -> Json:
        """A repository."""
        return self._json("GET", _path(repository))

    def create_repository(self, repository: str, **fields: Any) -> Json:
        """Create a repository; fields are named as the API names them: `allowedGroups=["legal"]`."""
        return self._json("POST", "/api/rag/repository", body={"repositoryId": repository, **fields})

    def delete_repository(self, repository: str) -> Json:
        """Begin to delete a repository with everything in it; wait with `wait_for`."""
        return self._json("DELETE", _path(repository))

    # Collections

    def collections(self, repository: str | None = None, **filters: Any) -> Iterator[Json]:
        """All collections of a repository, or of all repositories, that the caller can read: `filter=`, `status=`, `tag=`, `sortBy=`,
        `sortOrder=`, and without a repository `createdBy="me"`."""
        path = "/api/rag/repository/collections" if repository is None else _path(repository, "collections")
        return self._pages(path, "collections", "lastEvaluatedKey", filters)

    def collection(self, repository: str, collection: str) -> Json:
        """A collection by its id or its name."""
        return self._json("GET", _path(repository, "collections", collection))

    def create_collection(self, repository: str, name: str, **fields: Any) -> Json:
        """Create a collection; fields are named as the API names them: `private=True`."""
        return self._json("POST", _path(repository, "collections"), body={"name": name, **fields})

    def update_collection(self, repository: str, collection: str, *, version: int | None = None, **fields: Any) -> Json:
        """Change fields of a collection; None clears one. With the `version` that was read, a change of others since is refused."""
        headers = {} if version is None else {"if-match": f'"{version}"'}
        return self._json("PUT", _path(repository, "collections", collection), body=fields, headers=headers)

    def delete_collection(self, repository: str, collection: str, *, hard: bool = False) -> Json:
        """Delete a collection so that it can be restored; with `hard`, begin to remove it for good, and wait with `wait_for`."""
        return self._json("DELETE", _path(repository, "collections", collection), {"hardDelete": "true" if hard else "false"})

    # Documents

    def documents(self, repository: str, collection: str | None = None, **filters: Any) -> Iterator[Json]:
        """All documents of a collection, or of a repository, that the caller can read, newest first."""
        wanted = filters if collection is None else {**filters, "collectionId": collection}
        return self._pages(_path(repository, "document"), "documents", "lastEvaluated", wanted)

    def document(self, repository: str, document: str) -> Json:
        """A document."""
        return self._json("GET", _path(repository, "document", document))

    def upload(self, repository: str, file: Path | bytes, *, name: str | None = None, collection: str | None = None) -> Json:
        """Send a file and have it ingested; wait with `wait_for`."""
        content, called = (file.read_bytes(), name or file.name) if isinstance(file, Path) else (file, name or "document")
        headers = {
            "content-type": "application/octet-stream",
            "content-disposition": f"attachment; filename*=utf-8''{quote(called, safe='')}",
        }
        params = {} if collection is None else {"collectionId": collection}
        found, _ = self._ask("POST", _path(repository, "document"), params, content, headers)
        return dict(found)

    def upload_in_parts(self, repository: str, file: Path, *, collection: str | None = None, part: int = _PART) -> Json:
        """Send a large file in parts of so many bytes and have it ingested; wait with `wait_for`.

        A part that breaks off is sent on from where it ended, also after a restart of the host.
        """
        details = {"filename": file.name, "repositoryId": repository, **({} if collection is None else {"collectionId": collection})}
        metadata = ",".join(f"{name} {b64encode(value.encode()).decode()}" for name, value in details.items())
        size = file.stat().st_size
        _, begun = self._ask("POST", _UPLOADS, headers={"upload-length": str(size), "upload-metadata": metadata})
        place, offset = begun["location"], 0
        with file.open("rb") as content:
            while offset < size:
                content.seek(offset)
                offset = self._send_part(place, offset, content.read(part))
        done = self._json("GET", place)
        return self._json("POST", _path(repository, "bulk"), body={"keys": [done["key"]], "collectionId": collection})

    def _send_part(self, place: str, offset: int, content: bytes) -> int:
        """How much has arrived once a part was sent; where the connection breaks, that is asked for, and may be less."""
        headers = {"upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
        for pause in _PAUSES:
            try:
                return int(self._ask("PATCH", place, body=content, headers=headers)[1]["upload-offset"])
            except HttpError:
                self._sleep(pause)
                with suppress(HttpError):
                    return int(self._ask("HEAD", place)[1]["upload-offset"])
        raise JobFailed("The upload was broken off again and again.", fix="See whether the host can be reached, and send the file again.")

    def ingest(self, repository: str, documents: Sequence[Mapping[str, Any]], *, collection: str | None = None) -> Json:
        """Ingest texts (`text`, `documentName`), addresses (`url`), chunks or uploaded keys; wait with `wait_for`."""
        body = {"documents": [dict(one) for one in documents], "collectionId": collection}
        return self._json("POST", _path(repository, "ingest"), body=body)

    def update_document(self, repository: str, document: str, **fields: Any) -> Json:
        """Change the metadata or the name of a document."""
        return self._json("PATCH", _path(repository, "document", document), body=fields)

    def delete_documents(self, repository: str, documents: Sequence[str]) -> Json:
        """Begin to delete documents, each with an outcome of its own; wait with `wait_for`."""
        return self._json("DELETE", _path(repository, "document"), body={"documentIds": list(documents)})

    def download_url(self, repository: str, document: str) -> str:
        """A link to the file of a document, which expires soon."""
        found, _ = self._ask("GET", _path(repository, "document", document, "download"))
        return found if str(found).startswith("http") else f"{self.url}{found}"

    # Searches

    def search(self, repository: str, query: str, *, collections: Sequence[str] = (), **options: Any) -> Json:
        """The best passages of collections, or of all that the caller may search: `topK=`, `searchMode=`, `filter=`, ..."""
        body = {"query": query, "collectionIds": list(collections), **options}
        return self._json("POST", _path(repository, "search"), body=body)

    def ask(self, repository: str, question: str, *, collections: Sequence[str] = (), **options: Any) -> Json:
        """An answer whose sentences cite the passages that support them."""
        body = {"question": question, "collectionIds": list(collections), **options}
        return self._json("POST", _path(repository, "ask"), body=body)

    # Jobs

    def job(self, job_id: str) -> Json:
        """A job, with its progress, its result or its error."""
        return self._json("GET", f"/api/rag/jobs/{quote(job_id, safe='')}")

    def wait_for(self, started: str | Mapping[str, Any], *, seconds: float = 600.0) -> list[Json]:
        """The jobs that an answer names, or one by its id, when all have ended. One that was not completed raises `JobFailed`.

        What was refused at once has no job: see the answer's own rows.
        """
        ends = time.monotonic() + seconds
        return [self._ended(job_id, ends) for job_id in _job_ids(started)]

    def _ended(self, job_id: str, ends: float) -> Json:
        pause, longest = _LOOKS
        while (found := self.job(job_id))["status"] not in _ENDED:
            if time.monotonic() >= ends:
                raise JobFailed(f"The job {job_id} has not ended in time.", fix="Wait longer, or see its log for what it does.")
            self._sleep(pause)
            pause = min(pause * 1.5, longest)
        if found["status"] != "COMPLETED":
            raise JobFailed(f"The job {job_id} is {found['status']}.", fix=f"See {self.url}/api/rag/jobs/{job_id}/logs.")
        return found

    # How it is sent

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
        found, _ = self._ask(method, path, params, content, sent)
        return dict(found)

    def _ask(
        self, method: str, path: str, params: Mapping[str, Any] | None = None, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[Any, dict[str, str]]:
        url = f"{self.url}{path}" + (f"?{urlencode(params)}" if params else "")
        known = {} if self._key is None else {"authorization": f"Bearer {self._key}"}
        request = HttpRequest(url, body, {"accept": "application/json", **known, **(headers or {})}, method)
        answer = self._http.open(request, Timeouts(read=_PIECE_SECONDS))
        content = b"".join(iter(lambda: answer.receive(_PIECE_SECONDS), b""))
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
