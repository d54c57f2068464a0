"""Predictions of Replicate: video, images, speech and lip-sync, by models of many vendors."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gateleg.ai.errors import ContentRefused, InvalidModelRequest, ModelRefused
from gateleg.ai.media import MediaOutput, MediaState
from gateleg.ai.messages import Attachment
from gateleg.ai.providers.attachments import data_url
from gateleg.ai.providers.downloads import download, guessed_type
from gateleg.ai.providers.remote import read, send
from gateleg.ai.replies import Usage

if TYPE_CHECKING:
    from gateleg.ai.media import MediaRequest, MediaStatus
    from gateleg.ai.providers.remote import Endpoint
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow

USUAL = "https://api.replicate.com/v1"
_STATUSES: dict[str, MediaStatus] = {"succeeded": "succeeded", "failed": "failed", "canceled": "failed", "aborted": "failed"}
#: Larger files are uploaded first, as the API requires.
_INLINE = 256 * 1024
#: A progress bar, as models at Replicate print it.
_BAR = re.compile(r"^ *(\d{1,3})%\|[^|\n]*\|", re.MULTILINE)
_MODEL = re.compile(r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)(?::(?P<version>[0-9a-f]{16,64}))?")
#: How models at Replicate report that a prompt or a result violates their content policy.
_REFUSALS = re.compile(r"sensitive|nsfw|safety|content polic|moderation|flagged|E005|prohibited|inappropriate", re.IGNORECASE)


class ReplicateMedia:
    """A model at Replicate: `owner/name`, or `owner/name:version`."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        named = _MODEL.fullmatch(model)
        if named is None:
            raise InvalidModelRequest(
                f"{model!r} is not a model of Replicate: owner/name is missing.",
                fix="Use replicate:owner/name or replicate:owner/name:version.",
            )
        self._named = named
        self.endpoint = endpoint

    def submit(self, request: MediaRequest, deadline: CallDeadline) -> Flow[MediaState]:
        values: dict[str, Any] = {
            "prompt": request.prompt,
            "negative_prompt": request.negative_prompt,
            "duration": None if request.seconds is None else _number(request.seconds),
            "aspect_ratio": request.aspect_ratio,
            "seed": request.seed,
            "image": request.image,
            "reference_images": list(request.references),
            "video": request.video,
            "audio": request.audio,
        }
        if request.kind == "lip-sync":
            # The length is for the estimate of the cost. These models take a video and a recording, and refuse other inputs.
            values = {name: values[name] for name in ("video", "audio")}
        given = {name: value for name, value in values.items() if value not in (None, "", [])} | dict(request.options)
        sent = {}
        for name, value in given.items():
            sent[name] = yield from self._value(value, deadline)
        if self._named["version"]:
            path, body = "/predictions", {"version": self._named["version"], "input": sent}
        else:
            path, body = f"/models/{self._named['owner']}/{self._named['name']}/predictions", {"input": sent}
        try:
            found = yield from send(self.endpoint, self.endpoint.request(path, body), deadline)
        except ModelRefused as error:
            if _REFUSALS.search(error.message):
                raise ContentRefused(error.message) from error
            raise
        return read(lambda: _state(found))

    def poll(self, id: str, deadline: CallDeadline) -> Flow[MediaState]:
        """The current state of a prediction."""
        request = self.endpoint.request(f"/predictions/{quote(id, safe='')}", method="GET")
        found = yield from send(self.endpoint, request, deadline)
        return read(lambda: _state(found))

    def fetch(self, output: MediaOutput, deadline: CallDeadline) -> Flow[Attachment]:
        """The content of an output."""
        return (yield from download(output, self.endpoint, self.endpoint.bearer, deadline))

    def _value(self, value: Any, deadline: CallDeadline) -> Flow[Any]:
        """An input value: files become URLs, large ones after an upload."""
        if isinstance(value, list | tuple):
            found = [None] * len(value)
            for number, one in enumerate(value):
                found[number] = yield from self._value(one, deadline)
            return found
        if not isinstance(value, Attachment):
            return value
        if len(value.data) <= _INLINE:
            return data_url(value)
        form = self.endpoint.form("/files", {}, value, name="content")
        kept = yield from send(self.endpoint, form, deadline)
        return read(lambda: str(kept["urls"]["get"]))


def _number(seconds: Decimal) -> int | float:
    return int(seconds) if seconds == int(seconds) else float(seconds)


def _state(body: dict[str, Any]) -> MediaState:
    status = _STATUSES.get(body["status"], "running")
    reason = str(body.get("error") or "")
    if status == "failed" and _REFUSALS.search(reason):
        status = "refused"
    found = body.get("output") if status == "succeeded" else None
    urls = [found] if isinstance(found, str) else [one for one in found or () if isinstance(one, str)]
    if status == "succeeded" and not urls:
        raise ModelRefused("The prediction ended without a file.", fix="Check that the model generates files.")
    outputs = tuple(MediaOutput(guessed_type(url), url) for url in urls)
    said = reason or ("The prediction was cancelled." if status == "failed" else "")
    progress = 0.0 if body["status"] == "starting" else _progress(body.get("logs"))
    return MediaState(str(body["id"]), status, outputs, said, _usage(body), progress)


def _progress(logs: Any) -> float | None:
    """How far a prediction is, from the last progress bar in its log (`45%|####   | 9/20`); None if it shows none."""
    bars = _BAR.findall(logs) if isinstance(logs, str) else []
    return min(int(bars[-1]), 100) / 100 if bars else None


def _usage(body: dict[str, Any]) -> Usage | None:
    """The usage, if the prediction reports the length of the film."""
    seconds = (body.get("metrics") or {}).get("video_output_duration_seconds")
    return None if seconds is None else Usage(requests=1, seconds=Decimal(str(seconds)))
