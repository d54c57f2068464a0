"""Veo and Imagen behind Google's Gemini API: video as long-running operations, images in one call."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from gateleg.ai.errors import ContentRefused, InvalidModelRequest, ModelRefused, NotOffered
from gateleg.ai.media import MediaOutput, MediaState
from gateleg.ai.providers.attachments import encoded
from gateleg.ai.providers.downloads import download
from gateleg.ai.providers.remote import read, send
from gateleg.ai.replies import Usage

if TYPE_CHECKING:
    from gateleg.ai.media import MediaRequest
    from gateleg.ai.messages import Attachment
    from gateleg.ai.providers.remote import Endpoint
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow


class GeminiMedia:
    """A model of Google that generates video (`veo-...`) or images (`imagen-...`)."""

    def __init__(self, model: str, endpoint: Endpoint, key: str) -> None:
        if not model.startswith(("veo", "imagen")):
            raise NotOffered(f"{model} is neither a Veo nor an Imagen model.", fix="Use gemini:veo-... or gemini:imagen-...")
        self.model = model
        self.endpoint = endpoint
        self._headers = {"x-goog-api-key": key}

    def submit(self, request: MediaRequest, deadline: CallDeadline) -> Flow[MediaState]:
        """Start a film, or generate images."""
        if request.video is not None or request.audio is not None or request.kind in ("speech", "lip-sync"):
            raise NotOffered(f"{self.model} makes {'films' if self._films else 'pictures'} of texts and pictures.")
        if (request.kind == "video") != self._films:
            raise InvalidModelRequest(
                f"{self.model} makes {'films' if self._films else 'pictures'}, and the request is for {request.kind}."
            )
        verb, body = ("predictLongRunning", _film(request)) if self._films else ("predict", _pictures(request))
        sent = self.endpoint.request(f"/v1beta/models/{self.model}:{verb}", body, headers=self._headers)
        try:
            found = yield from send(self.endpoint, sent, deadline)
        except ModelRefused as error:
            if _names_policy(error.message):
                raise ContentRefused(error.message) from error
            raise
        return read(lambda: MediaState(str(found["name"]), "running")) if self._films else read(lambda: _made(found))

    def poll(self, id: str, deadline: CallDeadline) -> Flow[MediaState]:
        """The current state of a film."""
        found = yield from send(self.endpoint, self.endpoint.request(f"/v1beta/{id}", method="GET", headers=self._headers), deadline)
        return read(lambda: _operation(id, found))

    def fetch(self, output: MediaOutput, deadline: CallDeadline) -> Flow[Attachment]:
        """The content of an output."""
        return (yield from download(output, self.endpoint, self._headers, deadline))

    @property
    def _films(self) -> bool:
        return self.model.startswith("veo")


def _film(request: MediaRequest) -> dict[str, Any]:
    instance: dict[str, Any] = {"prompt": request.prompt}
    if request.image is not None:
        instance["image"] = _image(request.image)
    if request.references:
        instance["referenceImages"] = [{"image": _image(one), "referenceType": "asset"} for one in request.references]
    parameters: dict[str, Any] = {
        "aspectRatio": request.aspect_ratio or None,
        "negativePrompt": request.negative_prompt or None,
        "durationSeconds": None if request.seconds is None else int(request.seconds),
        "sampleCount": request.count if request.count > 1 else None,
        "seed": request.seed,
    }
    return _body(instance, parameters, request)


def _pictures(request: MediaRequest) -> dict[str, Any]:
    parameters: dict[str, Any] = {
        "sampleCount": request.count,
        "aspectRatio": request.aspect_ratio or None,
        "seed": request.seed,
        # Without this, filtered images are missing without a reason.
        "includeRaiReason": True,
    }
    return _body({"prompt": request.prompt}, parameters, request)


def _body(instance: dict[str, Any], parameters: dict[str, Any], request: MediaRequest) -> dict[str, Any]:
    given = {name: value for name, value in parameters.items() if value is not None} | dict(request.options)
    return {"instances": [instance], "parameters": given}


def _image(file: Attachment) -> dict[str, str]:
    return {"bytesBase64Encoded": encoded(file), "mimeType": file.media_type}


def _made(body: dict[str, Any]) -> MediaState:
    found = body.get("predictions") or []
    outputs = tuple(
        MediaOutput(one.get("mimeType") or "image/png", data=base64.b64decode(one["bytesBase64Encoded"]))
        for one in found
        if one.get("bytesBase64Encoded")
    )
    if not outputs:
        reasons = [str(one["raiFilteredReason"]) for one in found if one.get("raiFilteredReason")]
        return MediaState("", "refused", reason="; ".join(reasons) or "All images were filtered.")
    return MediaState("", "succeeded", outputs, usage=Usage(requests=1, images=len(outputs)))


def _names_policy(reason: str) -> bool:
    """Whether Google says that a request violates its content policy."""
    return any(word in reason.lower() for word in ("safety", "policy", "policies", "violat"))


def _operation(id: str, body: dict[str, Any]) -> MediaState:
    if not body.get("done"):
        return MediaState(id, "running")
    if "error" in body:
        reason = str(body["error"].get("message") or "")
        # 3: INVALID_ARGUMENT, which is also the response to a prompt that violates the content policy.
        refused = body["error"].get("code") == 3 and _names_policy(reason)
        return MediaState(id, "refused" if refused else "failed", reason=reason)
    found = body["response"]["generateVideoResponse"]
    samples = found.get("generatedSamples") or []
    if not samples:
        reasons = [str(reason) for reason in found.get("raiMediaFilteredReasons") or ()]
        return MediaState(id, "refused", reason="; ".join(reasons) or "All films were filtered.")
    return MediaState(
        id, "succeeded", tuple(MediaOutput(one["video"].get("mimeType") or "video/mp4", one["video"]["uri"]) for one in samples)
    )
