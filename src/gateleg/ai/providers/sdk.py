"""Models behind a provider's SDK: the part that all of them share.

SDK calls block, so they are work for the driver, one step for each event of a stream. SDKs do not retry: the retry policy does, for all
providers alike.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from gateleg.ai.errors import AiError, ExtraMissing, InvalidModelResponse, ModelTimedOut, ModelUnreachable, NotOffered
from gateleg.ai.providers.token_estimates import estimate
from gateleg.ai.steps import EmitPiece, Offload, completed
from gateleg.extras import install_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.ai.chat_requests import ChatRequest
    from gateleg.ai.messages import Attachment, UploadedFile
    from gateleg.ai.providers.remote import StreamReader
    from gateleg.ai.replies import Reply, ReplyBuilder, TokenCount
    from gateleg.ai.retry_policy import CallDeadline
    from gateleg.ai.steps import Flow

T = TypeVar("T")
_END: Any = object()
#: Names of exceptions of HTTP libraries.
_LOST = ("Connect", "Transport", "Network", "ReadError", "ProtocolError")


class Sdk(Protocol):
    """A provider's SDK, using the plain dictionaries of its protocol."""

    def call(self, request: ChatRequest, seconds: float) -> dict[str, Any]:
        """Request a whole reply."""
        ...

    def events(self, request: ChatRequest, seconds: float) -> Iterator[dict[str, Any]]:
        """Stream the events of a reply."""
        ...

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Parse a whole reply."""
        ...

    def reader(self, request: ChatRequest) -> StreamReader:
        """A reader for the events of a stream."""
        ...

    def failure(self, error: Exception) -> AiError | None:
        """The error for an exception of the SDK. None for other exceptions."""
        ...


@runtime_checkable
class FileSdk(Protocol):
    """An SDK of a provider that stores files."""

    def upload(self, file: Attachment, seconds: float) -> UploadedFile:
        """Upload a file."""
        ...

    def forget(self, upload: UploadedFile, seconds: float) -> None:
        """Delete a file."""
        ...


class SdkChat:
    """A chat model behind an SDK."""

    def __init__(self, model: str, sdk: Sdk) -> None:
        self.model = model
        self.sdk = sdk

    def reply(self, request: ChatRequest, deadline: CallDeadline) -> Flow[Reply]:
        body = yield Offload(partial(call_sdk, self.sdk.failure, partial(self.sdk.call, request, deadline.wait())))
        return call_sdk(self.sdk.failure, partial(self.sdk.reply, body, request))

    def stream(self, request: ChatRequest, deadline: CallDeadline, builder: ReplyBuilder) -> Flow[Reply]:
        """Stream the reply piece by piece."""
        reader = self.sdk.reader(request)
        events = self.sdk.events(request, deadline.wait())
        try:
            while (event := (yield Offload(partial(call_sdk, self.sdk.failure, partial(next, events, _END))))) is not _END:
                deadline.left()
                for delta in call_sdk(self.sdk.failure, partial(reader.read, event)):
                    builder.add(delta)
                    yield EmitPiece(delta)
        finally:
            close(events)
        if reader.finish is None:
            raise ModelUnreachable("The stream ended before the reply was complete.")
        return builder.whole(reader.finish, reader.usage, reader.model or self.model)

    def upload(self, file: Attachment, deadline: CallDeadline) -> Flow[UploadedFile]:
        """Upload a file to the provider."""
        if not isinstance(self.sdk, FileSdk):
            raise NotOffered("This provider does not store files.", fix="Send the file with the message, as an Attachment.")
        upload: UploadedFile = yield Offload(partial(call_sdk, self.sdk.failure, partial(self.sdk.upload, file, deadline.wait())))
        return upload

    def forget(self, upload: UploadedFile, deadline: CallDeadline) -> Flow[None]:
        """Delete an uploaded file at the provider."""
        if not isinstance(self.sdk, FileSdk):
            raise NotOffered("This provider does not store files.")
        yield Offload(partial(call_sdk, self.sdk.failure, partial(self.sdk.forget, upload, deadline.wait())))

    def count(self, text: str, deadline: CallDeadline) -> Flow[TokenCount]:
        """Estimate the tokens of a text."""
        return completed(estimate(text))


def call_sdk(failure: Callable[[Exception], AiError | None], call: Callable[[], T]) -> T:
    """Run a call, translating errors of the SDK and of its HTTP library."""
    try:
        return call()
    except AiError:
        raise
    except Exception as error:
        raise failure(error) or _generic(error) from error


def close(events: Iterator[Any]) -> None:
    """Close a stream. A thread that is still reading from it ends with the connection."""
    closing = getattr(events, "close", None)
    if closing is not None:
        try:
            closing()
        except (ValueError, RuntimeError):
            # The generator is running in a thread whose caller has given up.
            return


def import_sdk(module: str, extra: str) -> Any:
    """Import a module of an SDK. If it is not installed, the error names the extra."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ExtraMissing(f"The SDK {module.split('.')[0]} is not installed.", fix=install_hint(extra)) from error


def _generic(error: Exception) -> AiError:
    names = [kind.__name__ for kind in type(error).__mro__]
    if any("Timeout" in name for name in names):
        return ModelTimedOut(f"The service did not respond in time ({names[0]}).")
    if any(word in name for name in names for word in _LOST) or isinstance(error, OSError):
        return ModelUnreachable(f"The service could not be reached, or the connection was lost ({names[0]}).")
    bad = InvalidModelResponse(f"The response does not have the documented form: {names[0]}: {str(error)[:200]}.")
    bad.public = InvalidModelResponse.said
    return bad
