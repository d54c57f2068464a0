"""Models that generate images, video and sound: Veo and Imagen behind Google's Gemini API, and the predictions of Replicate.

Veo's films and Replicate's predictions are jobs, which are polled; Imagen answers at once.
"""

from __future__ import annotations

import base64
import mimetypes
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from gateleg.ai.addresses import origin
from gateleg.ai.error_translation import parse_error_response
from gateleg.ai.errors import ContentRefused, InvalidModelRequest, InvalidModelResponse, ModelRefused, ModelUnreachable, NotOffered
from gateleg.ai.media import MediaOutput, MediaState
from gateleg.ai.messages import Attachment, data_url, encoded
from gateleg.ai.providers.remote import read, read_body, send
from gateleg.ai.replies import Usage
from gateleg.net.http import HttpRequest

if TYPE_CHECKING:
    from gateleg.ai.media import MediaRequest
    from gateleg.ai.providers.remote import Endpoint
    from gateleg.ai.setup import CallDeadline
    from gateleg.ai.steps import Flow, Opened
    from gateleg.ai.tables import MediaStatus

_REDIRECTS = 5
REPLICATE = "https://api.replicate.com/v1"
_STATUSES: dict[str, MediaStatus] = {"succeeded": "succeeded", "failed": "failed", "canceled": "failed", "aborted": "failed"}
#: Larger files are uploaded first, as the API requires.
_INLINE = 256 * 1024
#: A progress bar, as models at Replicate print it.
_BAR = re.compile(r"^ *(\d{1,3})%\|[^|\n]*\|", re.MULTILINE)
_MODEL = re.compile(r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+)(?::(?P<version>[0-9a-f]{16,64}))?")
#: How models at Replicate report that a prompt or a result violates their content policy.
_REFUSALS = re.compile(r"sensitive|nsfw|safety|content polic|moderation|flagged|E005|prohibited|inappropriate", re.IGNORECASE)


class GeminiMedia:
    """A model of Google that generates video (`veo-...`) or images (`imagen-...`)."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        if not model.startswith(("veo", "imagen")):
            raise NotOffered(f"{model} is neither a Veo nor an Imagen model.", fix="Use gemini:veo-... or gemini:imagen-...")
        self.model = model
        self.endpoint = endpoint

    def submit(self, request: MediaRequest, deadline: CallDeadline) -> Flow[MediaState]:
        """Start a film, or generate images."""
        if request.video is not None or request.audio is not None or request.kind in ("speech", "lip-sync"):
            raise NotOffered(f"{self.model} makes {'films' if self._films else 'pictures'} of texts and pictures.")
        if (request.kind == "video") != self._films:
            raise InvalidModelRequest(
                f"{self.model} makes {'films' if self._films else 'pictures'}, and the request is for {request.kind}."
            )
        verb, body = ("predictLongRunning", _gemini_film(request)) if self._films else ("predict", _gemini_pictures(request))
        sent = self.endpoint.request(f"/v1beta/models/{self.model}:{verb}", body)
        try:
            answer = yield from send(self.endpoint, sent, deadline)
        except ModelRefused as error:
            if _names_policy(error.message):
                raise ContentRefused(error.message) from error
            raise
        return read(lambda: MediaState(str(answer["name"]), "running")) if self._films else read(lambda: _gemini_images(answer))

    def poll(self, id: str, deadline: CallDeadline) -> Flow[MediaState]:
        """The current state of a film."""
        operation = yield from send(self.endpoint, self.endpoint.request(f"/v1beta/{id}", method="GET"), deadline)
        return read(lambda: _gemini_operation(id, operation))

    def fetch(self, output: MediaOutput, deadline: CallDeadline) -> Flow[Attachment]:
        """The content of an output."""
        return (yield from _download(output, self.endpoint, deadline))

    @property
    def _films(self) -> bool:
        return self.model.startswith("veo")


def _gemini_film(request: MediaRequest) -> dict[str, Any]:
    instance: dict[str, Any] = {"prompt": request.prompt}
    if request.image is not None:
        instance["image"] = _gemini_image(request.image)
    if request.references:
        instance["referenceImages"] = [{"image": _gemini_image(picture), "referenceType": "asset"} for picture in request.references]
    parameters: dict[str, Any] = {
        "aspectRatio": request.aspect_ratio or None,
        "negativePrompt": request.negative_prompt or None,
        "durationSeconds": None if request.seconds is None else int(request.seconds),
        "sampleCount": request.count if request.count > 1 else None,
        "seed": request.seed,
    }
    return _gemini_body(instance, parameters, request)


def _gemini_pictures(request: MediaRequest) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "sampleCount": request.count,
        "aspectRatio": request.aspect_ratio or None,
        "seed": request.seed,
        # Without this, filtered images are missing without a reason.
        "includeRaiReason": True,
    }
    return _gemini_body({"prompt": request.prompt}, parameters, request)


def _gemini_body(instance: dict[str, Any], parameters: dict[str, Any], request: MediaRequest) -> dict[str, Any]:
    parameters_set = {name: value for name, value in parameters.items() if value is not None} | dict(request.options)
    return {"instances": [instance], "parameters": parameters_set}


def _gemini_image(file: Attachment) -> dict[str, str]:
    return {"bytesBase64Encoded": encoded(file), "mimeType": file.media_type}


def _gemini_images(body: dict[str, Any]) -> MediaState:
    predictions = body.get("predictions") or []
    outputs = tuple(
        MediaOutput(prediction.get("mimeType") or "image/png", data=base64.b64decode(prediction["bytesBase64Encoded"]))
        for prediction in predictions
        if prediction.get("bytesBase64Encoded")
    )
    if not outputs:
        reasons = [str(prediction["raiFilteredReason"]) for prediction in predictions if prediction.get("raiFilteredReason")]
        return MediaState("", "refused", reason="; ".join(reasons) or "All images were filtered.")
    return MediaState("", "succeeded", outputs, usage=Usage(requests=1, images=len(outputs)))


def _names_policy(reason: str) -> bool:
    """Whether Google says that a request violates its content policy."""
    return any(word in reason.lower() for word in ("safety", "policy", "policies", "violat"))


def _gemini_operation(id: str, body: dict[str, Any]) -> MediaState:
    if not body.get("done"):
        return MediaState(id, "running")
    if "error" in body:
        reason = str(body["error"].get("message") or "")
        # 3: INVALID_ARGUMENT, which is also the response to a prompt that violates the content policy.
        refused = body["error"].get("code") == 3 and _names_policy(reason)
        return MediaState(id, "refused" if refused else "failed", reason=reason)
    response = body["response"]["generateVideoResponse"]
    samples = response.get("generatedSamples") or []
    if not samples:
        reasons = [str(reason) for reason in response.get("raiMediaFilteredReasons") or ()]
        return MediaState(id, "refused", reason="; ".join(reasons) or "All films were filtered.")
    return MediaState(
        id, "succeeded", tuple(MediaOutput(sample["video"].get("mimeType") or "video/mp4", sample["video"]["uri"]) for sample in samples)
    )


class ReplicateMedia:
    """A model at Replicate: `owner/name`, or `owner/name:version`."""

    def __init__(self, model: str, endpoint: Endpoint) -> None:
        match = _MODEL.fullmatch(model)
        if match is None:
            raise InvalidModelRequest(
                f"{model!r} is not a model of Replicate: owner/name is missing.",
                fix="Use replicate:owner/name or replicate:owner/name:version.",
            )
        self._named = match
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
        inputs = {name: value for name, value in values.items() if value not in (None, "", [])} | dict(request.options)
        sent = {}
        for name, value in inputs.items():
            sent[name] = yield from self._value(value, deadline)
        if self._named["version"]:
            path, body = "/predictions", {"version": self._named["version"], "input": sent}
        else:
            path, body = f"/models/{self._named['owner']}/{self._named['name']}/predictions", {"input": sent}
        try:
            prediction = yield from send(self.endpoint, self.endpoint.request(path, body), deadline)
        except ModelRefused as error:
            if _REFUSALS.search(error.message):
                raise ContentRefused(error.message) from error
            raise
        return read(lambda: _prediction(prediction))

    def poll(self, id: str, deadline: CallDeadline) -> Flow[MediaState]:
        """The current state of a prediction."""
        request = self.endpoint.request(f"/predictions/{quote(id, safe='')}", method="GET")
        prediction = yield from send(self.endpoint, request, deadline)
        return read(lambda: _prediction(prediction))

    def fetch(self, output: MediaOutput, deadline: CallDeadline) -> Flow[Attachment]:
        """The content of an output."""
        return (yield from _download(output, self.endpoint, deadline))

    def _value(self, value: Any, deadline: CallDeadline) -> Flow[Any]:
        """An input value: files become URLs, large ones after an upload."""
        if isinstance(value, list | tuple):
            items = [None] * len(value)
            for number, item in enumerate(value):
                items[number] = yield from self._value(item, deadline)
            return items
        if not isinstance(value, Attachment):
            return value
        if len(value.data) <= _INLINE:
            return data_url(value)
        form = self.endpoint.form("/files", {}, value, name="content")
        upload = yield from send(self.endpoint, form, deadline)
        return read(lambda: str(upload["urls"]["get"]))


def _number(seconds: Decimal) -> int | float:
    return int(seconds) if seconds == int(seconds) else float(seconds)


def _prediction(body: dict[str, Any]) -> MediaState:
    status = _STATUSES.get(body["status"], "running")
    reason = str(body.get("error") or "")
    if status == "failed" and _REFUSALS.search(reason):
        status = "refused"
    output = body.get("output") if status == "succeeded" else None
    urls = [output] if isinstance(output, str) else [url for url in output or () if isinstance(url, str)]
    if status == "succeeded" and not urls:
        raise ModelRefused("The prediction ended without a file.", fix="Check that the model generates files.")
    outputs = tuple(MediaOutput(_guessed_type(url), url) for url in urls)
    said = reason or ("The prediction was cancelled." if status == "failed" else "")
    progress = 0.0 if body["status"] == "starting" else _progress(body.get("logs"))
    return MediaState(str(body["id"]), status, outputs, said, _film_usage(body), progress)


def _progress(logs: Any) -> float | None:
    """How far a prediction is, from the last progress bar in its log (`45%|####   | 9/20`); None if it shows none."""
    bars = _BAR.findall(logs) if isinstance(logs, str) else []
    return min(int(bars[-1]), 100) / 100 if bars else None


def _film_usage(body: dict[str, Any]) -> Usage | None:
    """The usage, if the prediction reports the length of the film."""
    seconds = (body.get("metrics") or {}).get("video_output_duration_seconds")
    return None if seconds is None else Usage(requests=1, seconds=Decimal(str(seconds)))


def _download(output: MediaOutput, endpoint: Endpoint, deadline: CallDeadline) -> Flow[Attachment]:
    """The content of an output. The key is sent to the endpoint's own origin only, even if that redirects elsewhere."""
    if output.data is not None:
        return Attachment(output.media_type, output.data)
    url = output.url or ""
    for _ in range(_REDIRECTS):
        _check_scheme(url)
        own = endpoint.authentication if origin(url) == origin(endpoint.url) else {}
        opened: Opened = yield deadline.opening(HttpRequest(url, headers={"user-agent": "gateleg"} | own, method="GET"))
        try:
            data = yield from read_body(opened, deadline)
        finally:
            opened.close()
        if opened.status in (301, 302, 303, 307, 308) and opened.headers.get("location"):
            url = urljoin(url, opened.headers["location"])
            continue
        if opened.status != 200:
            raise parse_error_response(opened.status, opened.headers, data, endpoint.key)
        kind = opened.headers.get("content-type", "").partition(";")[0].strip()
        return Attachment(kind if "/" in kind and kind != "application/octet-stream" else output.media_type, data)
    raise ModelUnreachable("The download was redirected too often.")


def _guessed_type(url: str) -> str:
    """The media type of a file by its extension."""
    return mimetypes.guess_type(urlsplit(url).path)[0] or "application/octet-stream"


def _check_scheme(url: str) -> None:
    if urlsplit(url).scheme not in ("http", "https"):
        raise InvalidModelResponse("The service returned a URL that is not HTTP.")
