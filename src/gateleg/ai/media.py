"""Pictures, films and sound that models make: what is asked for, and how far it is. Plain values."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import orjson

from gateleg.ai.messages import Attachment
from gateleg.ai.replies import Usage

#: What is to be made: pictures, a film, speech, or a film whose lips follow a recording.
MediaKind = Literal["image", "video", "speech", "lip-sync"]
#: `submitting`: the provider may or may not have it. `refused`: against the provider's rules for content; never sent again.
MediaStatus = Literal["submitting", "running", "succeeded", "failed", "refused"]


@dataclass(frozen=True)
class MediaRequest:
    """What is to be made. What is left out is up to the model."""

    kind: MediaKind
    prompt: str = ""
    #: what must not be in it
    negative_prompt: str = ""
    #: the length of a film or of speech; also what its cost is estimated by
    seconds: Decimal | None = None
    #: such as 16:9
    aspect_ratio: str = ""
    count: int = 1
    seed: int | None = None
    #: the first frame of a film, or the picture to change
    image: Attachment | None = None
    #: pictures of whom or what is to appear
    references: tuple[Attachment, ...] = ()
    #: for lip-sync: the film, and the recording that it is to follow
    video: Attachment | None = None
    audio: Attachment | None = None
    #: further parameters, as the model calls them; they go before all others
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """A digest of all of it: a token must not be used for two requests."""
        plain = [self.kind, self.prompt, self.negative_prompt, str(self.seconds), self.aspect_ratio, self.count, self.seed]
        files = [self.image, *self.references, self.video, self.audio]
        digests = [None if file is None else [file.media_type, hashlib.sha256(file.data).hexdigest()] for file in files]
        options = {name: _plain(value) for name, value in self.options.items()}
        return hashlib.sha256(orjson.dumps([plain, digests, options], option=orjson.OPT_SORT_KEYS, default=str)).hexdigest()


def _plain(value: Any) -> Any:
    return hashlib.sha256(value.data).hexdigest() if isinstance(value, Attachment) else value


@dataclass(frozen=True, slots=True)
class MediaOutput:
    """Something that was made: where it is, or its content."""

    media_type: str
    url: str | None = None
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class MediaState:
    """How far a provider is with a job."""

    #: the provider's name for it; empty where the answer came at once
    id: str
    status: MediaStatus
    outputs: tuple[MediaOutput, ...] = ()
    #: why it failed or was refused, in the provider's words
    reason: str = ""
    #: what it has used, where the provider says so
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class MediaJob:
    """A job of a provider, by the token that it was submitted under."""

    token: str
    model: str
    kind: MediaKind
    status: MediaStatus
    outputs: tuple[MediaOutput, ...] = ()
    reason: str = ""
    #: what it was estimated to use before it was submitted; its cost is None without a price
    forecast: Usage = field(default_factory=Usage)

    @property
    def done(self) -> bool:
        """Whether it has ended, well or badly."""
        return self.status in ("succeeded", "failed", "refused")
