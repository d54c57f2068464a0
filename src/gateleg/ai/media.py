"""Media: images, video and sound. Requests and the state of their jobs are plain values; submit, poll and fetch are flows.

A job is identified by a token of the caller, under which its state is stored. The record is written before the provider is called, so a
process that dies at any point never causes a second submission. Invariant: for one token, the provider is called at most once, unless it
clearly refused for a temporary reason. The cost is recorded in the transaction that records the end, so exactly once.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import orjson

from gateleg.ai.errors import (
    AiError,
    ContentRefused,
    InvalidModelRequest,
    KeyMissing,
    MediaFailed,
    ModelAccessDenied,
    ModelRefused,
    NothingSubmitted,
    NotOffered,
    RateLimited,
    SubmissionUnknown,
)
from gateleg.ai.messages import Attachment
from gateleg.ai.replies import NOTHING, Usage
from gateleg.ai.setup import is_safe_to_repeat
from gateleg.ai.steps import StoreOperation
from gateleg.ai.tables import MediaKind, MediaRecord, MediaStatus
from gateleg.store import AlreadyExists, ConditionFailed, TransactionCanceled, create, delete, patch
from gateleg.store.flow import Pause
from gateleg.store.operations import find, transact

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.provider import MediaProvider
    from gateleg.ai.setup import ModelSetup
    from gateleg.ai.spending import Reservation
    from gateleg.ai.steps import Flow
#: Errors after which the provider has certainly not started.
_NOT_BEGUN = (RateLimited, ModelRefused, ModelAccessDenied, InvalidModelRequest, NotOffered, KeyMissing)
_RETENTION = timedelta(days=60)


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


@dataclass(frozen=True)
class MediaFlows:
    """A model that generates images, video or sound: submit, poll, fetch."""

    address: ModelAddress
    provider: MediaProvider
    setup: ModelSetup

    def estimate(self, request: MediaRequest) -> Usage:
        """The estimated usage and cost of a request. The cost is None if no price is known."""
        seconds = (request.seconds or Decimal(0)) * request.count
        used = Usage(requests=1, images=request.count) if request.kind == "image" else Usage(requests=1, seconds=seconds)
        return self.setup.priced(self.address, used)

    def submit(self, request: MediaRequest, *, token: str) -> Flow[MediaJob]:
        """Submit a request. If the token was used before, nothing is submitted and its job is returned."""
        _check(request, token)
        known = yield from self._begun(request, token)
        if known is not None:
            return known
        reserved: Reservation | None = None
        try:
            if self.setup.spending is not None:
                reserved = yield from self.setup.spending.reserve(self.address, self.estimate(request), opened=False)
        except AiError:
            yield StoreOperation(delete(MediaRecord, token=self._key(token)))
            raise
        try:
            state = yield from self.setup.retry_policy.attempts(
                lambda deadline: self.provider.submit(request, deadline), worth=is_safe_to_repeat
            )
        except AiError as error:
            raise (yield from self._not_submitted(token, reserved, error)) from error
        except GeneratorExit:
            if self.setup.spending is not None and reserved is not None:
                self.setup.spending.leave(reserved, reserved.forecast)
            raise
        return (yield from self._submitted(token, request, state, reserved))

    def poll(self, token: str) -> Flow[MediaJob]:
        """The current state of a job."""
        record: MediaRecord | None = yield StoreOperation(find(MediaRecord, token=self._key(token), consistent=True))
        if record is None:
            raise NothingSubmitted(f"Nothing was submitted under the token {token!r}.")
        if record.status == "submitting":
            raise _unknown(token)
        if record.status == "failed" and record.provider_id is None:
            raise NothingSubmitted(f"The provider did not accept the job of the token {token!r}. {record.reason}".rstrip())
        if record.status != "running":
            return _job(token, record)
        number = record.provider_id or ""
        state = yield from self.setup.retry_policy.attempts(lambda deadline: self.provider.poll(number, deadline))
        if state.status == "running":
            return replace(_job(token, record), progress=state.progress)
        return (yield from self._ended(token, record, state))

    def wait(self, token: str, *, every: float = 5.0) -> Flow[MediaJob]:
        """Poll until the job has succeeded. Raises `ContentRefused` or `MediaFailed` otherwise."""
        while not (job := (yield from self.poll(token))).done:
            yield Pause(every)
        if job.status == "refused":
            raise ContentRefused(_refusal(job.reason))
        if job.status == "failed":
            raise MediaFailed(f"The provider could not finish the job: {job.reason or 'no reason given'}.")
        return job

    def fetch(self, job: MediaJob, number: int = 0) -> Flow[Attachment]:
        """The content of one output."""
        output = job.outputs[number]
        return (yield from self.setup.retry_policy.attempts(lambda deadline: self.provider.fetch(output, deadline)))

    def _key(self, token: str) -> str:
        spending = self.setup.spending
        return f"{'' if spending is None else spending.account.application}/{token}"

    def _begun(self, request: MediaRequest, token: str) -> Flow[MediaJob | None]:
        """Reserve the token, or return its existing job."""
        now = datetime.now(UTC)
        forecast = self.estimate(request)
        record = MediaRecord(
            token=self._key(token),
            model=str(self.address),
            kind=request.kind,
            digest=request.digest,
            images=forecast.images,
            seconds=forecast.seconds,
            cost=forecast.cost,
            expires_at=now + _RETENTION,
        )
        try:
            yield StoreOperation(create(record))
        except AlreadyExists:
            stored: MediaRecord | None = yield StoreOperation(find(MediaRecord, token=record.token, consistent=True))
        else:
            return None
        if stored is None:
            raise _unknown(token)
        if (stored.digest, stored.model) != (record.digest, record.model):
            raise InvalidModelRequest(f"The token {token!r} was used for another request.", fix="Use a token for one request only.")
        match stored.status:
            case "submitting":
                raise _unknown(token)
            case "refused":
                raise ContentRefused(_refusal(stored.reason))
            case "failed":
                still = MediaRecord.status == "failed"
                again = patch(MediaRecord, MediaRecord.status.set("submitting"), condition=still, token=stored.token)
                try:
                    yield StoreOperation(again)
                except ConditionFailed:
                    raise _unknown(token) from None
                return None
            case "succeeded" if not stored.urls:
                raise SubmissionUnknown(
                    f"The output of the token {token!r} was returned by its first call and is not stored.",
                    fix="Use another token to generate, and pay for, it again.",
                )
        return _job(token, stored)

    def _submitted(self, token: str, request: MediaRequest, state: MediaState, reserved: Reservation | None) -> Flow[MediaJob]:
        changes = [
            MediaRecord.status.set("running"),
            MediaRecord.provider_id.set(state.id),
            MediaRecord.scopes.set(list(reserved.scopes) if reserved is not None else []),
            MediaRecord.submitted_at.set(datetime.now(UTC) if reserved is None else reserved.day),
        ]
        record: MediaRecord = yield StoreOperation(patch(MediaRecord, *changes, token=self._key(token)))
        job = replace(_job(token, record), progress=state.progress)
        if state.status != "running":
            job = yield from self._ended(token, record, state)
        if job.status == "refused":
            raise ContentRefused(_refusal(job.reason))
        return job

    def _not_submitted(self, token: str, reserved: Reservation | None, error: AiError) -> Flow[AiError]:
        """The error of a failed submission. The token is released if the provider has certainly not started."""
        spending, refused = self.setup.spending, isinstance(error, ContentRefused)
        begun = not refused and error.sent and not isinstance(error, _NOT_BEGUN)
        if spending is not None and reserved is not None:
            usage, ending = (reserved.forecast, "unknown") if begun else (NOTHING, "failed")
            yield from spending.settle(reserved, usage, ending)  # type: ignore[arg-type]
        if refused:
            changes = [MediaRecord.status.set("refused"), MediaRecord.reason.set(error.message[:500])]
            yield StoreOperation(patch(MediaRecord, *changes, token=self._key(token)))
        elif not begun:
            changes = [MediaRecord.status.set("failed"), MediaRecord.reason.set(error.message[:500])]
            yield StoreOperation(patch(MediaRecord, *changes, token=self._key(token)))
        return _unknown(token, error) if begun else error

    def _ended(self, token: str, record: MediaRecord, state: MediaState) -> Flow[MediaJob]:
        """Record the end of a job and its cost, once."""
        changes = [
            MediaRecord.status.set(state.status),
            MediaRecord.reason.set(state.reason[:500]),
            MediaRecord.urls.set([output.url for output in state.outputs if output.url is not None]),
            MediaRecord.media_types.set([output.media_type for output in state.outputs if output.url is not None]),
        ]
        writes: list[Any] = [patch(MediaRecord, *changes, condition=MediaRecord.status == "running", token=record.token)]
        if self.setup.spending is not None:
            usage, ending = self._used(record, state)
            writes += self.setup.spending.settlement(self._reserved(record), usage, ending)  # type: ignore[arg-type]
        try:
            yield StoreOperation(transact(writes, token=uuid4().hex))
        except TransactionCanceled:
            # Another caller has recorded the end first.
            stored: MediaRecord | None = yield StoreOperation(find(MediaRecord, token=record.token, consistent=True))
            return _job(token, stored or record)
        ended = record.model_copy(update={"status": state.status, "reason": state.reason[:500]})
        return replace(_job(token, ended), outputs=state.outputs)

    def _used(self, record: MediaRecord, state: MediaState) -> tuple[Usage, str]:
        if state.status != "succeeded":
            return NOTHING, "failed"
        used = state.usage or Usage(requests=1, images=record.images, seconds=record.seconds, estimated=True)
        return self.setup.charge(self.address, used), "answered"

    def _reserved(self, record: MediaRecord) -> Reservation:
        from gateleg.ai.spending import Reservation

        assert self.setup.spending is not None
        forecast = Usage(requests=1, images=record.images, seconds=record.seconds, cost=record.cost)
        day = record.submitted_at or datetime.now(UTC)
        return Reservation(record.model, self.setup.spending.account, day, forecast, tuple(record.scopes))


def _plain(value: Any) -> Any:
    return hashlib.sha256(value.data).hexdigest() if isinstance(value, Attachment) else value


def _check(request: MediaRequest, token: str) -> None:
    if not token or len(token) > 500:
        raise InvalidModelRequest("A token must have 1 to 500 characters.")
    if request.count < 1 or (request.seconds is not None and request.seconds <= 0):
        raise InvalidModelRequest("count and seconds must be greater than 0.")
    if request.kind == "lip-sync" and (request.video is None or request.audio is None) and not request.options:
        raise InvalidModelRequest("Lip-sync needs a video and a recording.", fix="Pass video and audio.")


def _job(token: str, record: MediaRecord) -> MediaJob:
    outputs = tuple(MediaOutput(kind, url) for kind, url in zip(record.media_types, record.urls, strict=True))
    forecast = Usage(requests=1, images=record.images, seconds=record.seconds, cost=record.cost)
    return MediaJob(token, record.model, record.kind, record.status, outputs, record.reason, forecast)


def _refusal(reason: str) -> str:
    return f"The provider refused the request: {reason.rstrip('.') or 'no reason given'}."


def _unknown(token: str, error: AiError | None = None) -> SubmissionUnknown:
    why = "Another process may be submitting it, or has died while doing so." if error is None else error.message
    return SubmissionUnknown(f"It is not known whether the provider has received the request of the token {token!r}. {why}")
