"""Requests for generated images, video and sound, and the state of their jobs. Plain values."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import orjson

from gateleg.ai.messages import Attachment
from gateleg.ai.replies import Usage

#: What to generate: images, video, speech, or a video whose lips follow a recording.
MediaKind = Literal["image", "video", "speech", "lip-sync"]
#: `submitting`: the provider may or may not have it. `refused`: it violates the provider's content policy and is never sent again.
MediaStatus = Literal["submitting", "running", "succeeded", "failed", "refused"]


@dataclass(frozen=True)
class MediaRequest:
    """A request to generate media. The model chooses what is not set."""

    kind: MediaKind
    prompt: str = ""
    #: what must not appear
    negative_prompt: str = ""
    #: the length of video or speech, which also determines the estimated cost
    seconds: Decimal | None = None
    #: such as 16:9
    aspect_ratio: str = ""
    count: int = 1
    seed: int | None = None
    #: the first frame of a video, or the image to edit
    image: Attachment | None = None
    #: reference images of people or things that should appear
    references: tuple[Attachment, ...] = ()
    #: for lip-sync: the video, and the recording
    video: Attachment | None = None
    audio: Attachment | None = None
    #: further parameters by the model's own names, which take precedence
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A digest of the whole request, because a token must not be used for two requests."""
        plain = [self.kind, self.prompt, self.negative_prompt, str(self.seconds), self.aspect_ratio, self.count, self.seed]
        files = [self.image, *self.references, self.video, self.audio]
        digests = [None if file is None else [file.media_type, hashlib.sha256(file.data).hexdigest()] for file in files]
        options = {name: _plain(value) for name, value in self.options.items()}
        return hashlib.sha256(orjson.dumps([plain, digests, options], option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()


def _plain(value: Any) -> Any:
    return hashlib.sha256(value.data).hexdigest() if isinstance(value, Attachment) else value


@dataclass(frozen=True, slots=True)
class MediaOutput:
    """A generated file: its URL, or its content."""

    media_type: str
    url: str | None = None
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class MediaState:
    """The state of a job at the provider."""

    #: the provider's id of the job; empty if the result came at once
    id: str
    status: MediaStatus
    outputs: tuple[MediaOutput, ...] = ()
    #: why it failed or was refused, as the provider says it
    reason: str = ""
    #: the usage, if the provider reports it
    usage: Usage | None = None
    #: how far the provider is, from 0 (waiting to start) to 1; None if it does not say
    progress: float | None = None


@dataclass(frozen=True, slots=True)
class MediaJob:
    """A media job, by the token that it was submitted under."""

    token: str
    model: str
    kind: MediaKind
    status: MediaStatus
    outputs: tuple[MediaOutput, ...] = ()
    reason: str = ""
    #: estimated usage before it was submitted; the cost is None without a price
    forecast: Usage = field(default_factory=Usage)
    #: how far the provider is, from 0 (waiting to start) to 1; None if it does not say
    progress: float | None = None

    @property
    def done(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.status in ("succeeded", "failed", "refused")
