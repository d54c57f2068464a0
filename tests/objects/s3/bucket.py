"""A bucket in memory that answers as a botocore client does, and fails where a test wants it to."""

import hashlib
import io
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError, IncompleteReadError

if TYPE_CHECKING:
    from collections.abc import Callable

Answer = dict[str, Any]


@dataclass
class Stored:
    content: bytes
    content_type: str
    metadata: dict[str, str]
    etag: str
    modified: datetime


@dataclass
class Parts:
    key: str
    described: Answer
    begun: datetime
    parts: dict[int, bytes] = field(default_factory=dict)


class Breaking(io.BytesIO):
    """A body whose connection is lost after a number of bytes."""

    def __init__(self, content: bytes, after: int) -> None:
        super().__init__(content[:after])

    def read(self, size: int | None = -1, /) -> bytes:
        chunk = super().read(size)
        if not chunk:
            raise IncompleteReadError(actual_bytes=0, expected_bytes=1)
        return chunk


@dataclass
class Meta:
    region_name: str = "eu-west-1"


class MemoryClient:
    """The calls that `S3Objects` makes. `before` is called with each operation's name and may raise."""

    def __init__(self) -> None:
        self.meta = Meta()
        self.objects: dict[str, Stored] = {}
        self.uploads: dict[str, Parts] = {}
        self.calls: list[str] = []
        self.before: Callable[[str, Answer], None] = lambda operation, request: None
        #: how many bytes of each body arrive before the connection breaks
        self.breaks: int | None = None

    def close(self) -> None:
        self.calls.append("close")

    def _called(self, operation: str, request: Answer) -> None:
        self.calls.append(operation)
        self.before(operation, request)

    def _store(self, key: str, content: bytes, described: Answer, etag: str | None = None) -> Answer:
        etag = etag or hashlib.md5(content).hexdigest()
        self.objects[key] = Stored(content, described["ContentType"], described["Metadata"], etag, datetime.now(UTC))
        return {"ETag": f'"{etag}"'}

    def _found(self, key: str) -> Stored:
        if key not in self.objects:
            raise refusal("NoSuchKey", 404)
        return self.objects[key]

    def put_object(self, **request: Any) -> Answer:
        self._called("put_object", request)
        self._refuse_second(request)
        return self._store(request["Key"], request["Body"], request)

    def _refuse_second(self, request: Answer) -> None:
        if request.get("IfNoneMatch") == "*" and request["Key"] in self.objects:
            raise refusal("PreconditionFailed", 412)

    def head_object(self, **request: Any) -> Answer:
        self._called("head_object", request)
        return self._described(self._found(request["Key"]))

    def _described(self, stored: Stored) -> Answer:
        return {
            "ContentLength": len(stored.content),
            "ContentType": stored.content_type,
            "Metadata": stored.metadata,
            "ETag": f'"{stored.etag}"',
            "LastModified": stored.modified,
        }

    def get_object(self, **request: Any) -> Answer:
        self._called("get_object", request)
        stored = self._found(request["Key"])
        if request.get("IfNoneMatch") == f'"{stored.etag}"':
            raise refusal("304", 304)
        if request.get("IfMatch", f'"{stored.etag}"') != f'"{stored.etag}"':
            raise refusal("PreconditionFailed", 412)
        answer = self._described(stored)
        content = stored.content
        if "Range" in request:
            first, _, last = request["Range"].removeprefix("bytes=").partition("-")
            start = int(first) if first else max(0, len(content) - int(last))
            stop = min(len(content), int(last) + 1) if first and last else len(content)
            if start >= stop:
                raise refusal("InvalidRange", 416)
            answer["ContentRange"] = f"bytes {start}-{stop - 1}/{len(content)}"
            content = content[start:stop]
        answer["ContentLength"] = len(content)
        answer["Body"] = io.BytesIO(content) if self.breaks is None else Breaking(content, self.breaks)
        return answer

    def list_objects_v2(self, **request: Any) -> Answer:
        self._called("list_objects_v2", request)
        prefix, delimiter, after = request["Prefix"], request.get("Delimiter"), request.get("ContinuationToken", "")
        contents: list[Answer] = []
        shared: list[str] = []
        last = ""
        for key in sorted(self.objects, key=str.encode):
            head, found, _ = key.removeprefix(prefix).partition(delimiter) if delimiter else ("", "", "")
            place = prefix + head + found if found else key
            if not key.startswith(prefix) or place.encode() <= after.encode() or place in shared:
                continue
            if len(contents) + len(shared) == request["MaxKeys"]:
                return self._page(contents, shared) | {"IsTruncated": True, "NextContinuationToken": last}
            last = place
            if found:
                shared.append(place)
            else:
                stored = self.objects[key]
                contents.append({"Key": key, "Size": len(stored.content), "ETag": f'"{stored.etag}"', "LastModified": stored.modified})
        return self._page(contents, shared) | {"IsTruncated": False}

    def _page(self, contents: list[Answer], shared: list[str]) -> Answer:
        return {"Contents": contents, "CommonPrefixes": [{"Prefix": prefix} for prefix in shared]}

    def delete_object(self, **request: Any) -> Answer:
        self._called("delete_object", request)
        self.objects.pop(request["Key"], None)
        return {}

    def delete_objects(self, **request: Any) -> Answer:
        self._called("delete_objects", request)
        for entry in request["Delete"]["Objects"]:
            self.objects.pop(entry["Key"], None)
        return {}

    def copy_object(self, **request: Any) -> Answer:
        self._called("copy_object", request)
        return {"CopyObjectResult": self._store(request["Key"], self._found(request["CopySource"]["Key"]).content, request)}

    def create_multipart_upload(self, **request: Any) -> Answer:
        self._called("create_multipart_upload", request)
        name = f"upload-{len(self.calls)}"
        self.uploads[name] = Parts(request["Key"], request, datetime.now(UTC))
        return {"UploadId": name}

    def upload_part(self, **request: Any) -> Answer:
        self._called("upload_part", request)
        self.uploads[request["UploadId"]].parts[request["PartNumber"]] = request["Body"]
        return {"ETag": hashlib.md5(request["Body"]).hexdigest()}

    def upload_part_copy(self, **request: Any) -> Answer:
        self._called("upload_part_copy", request)
        first, _, last = request["CopySourceRange"].removeprefix("bytes=").partition("-")
        content = self._found(request["CopySource"]["Key"]).content[int(first) : int(last) + 1]
        self.uploads[request["UploadId"]].parts[request["PartNumber"]] = content
        return {"CopyPartResult": {"ETag": hashlib.md5(content).hexdigest()}}

    def complete_multipart_upload(self, **request: Any) -> Answer:
        self._called("complete_multipart_upload", request)
        self._refuse_second(request)
        upload = self.uploads.pop(request["UploadId"])
        numbers = [part["PartNumber"] for part in request["MultipartUpload"]["Parts"]]
        content = b"".join(upload.parts[number] for number in numbers)
        return self._store(upload.key, content, upload.described, f"{hashlib.md5(content).hexdigest()}-{len(numbers)}")

    def abort_multipart_upload(self, **request: Any) -> Answer:
        self._called("abort_multipart_upload", request)
        self.uploads.pop(request["UploadId"], None)
        return {}

    def get_paginator(self, operation: str) -> "MemoryClient":
        assert operation == "list_multipart_uploads"
        return self

    def paginate(self, **request: Any) -> list[Answer]:
        uploads = [{"Key": upload.key, "UploadId": name, "Initiated": upload.begun} for name, upload in self.uploads.items()]
        return [{"Uploads": [upload for upload in uploads if str(upload["Key"]).startswith(request["Prefix"])]}]


def refusal(code: str, status: int) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Operation")
