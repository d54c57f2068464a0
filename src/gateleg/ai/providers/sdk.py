"""Models behind a provider's own SDK: what is the same for all of them.

An SDK blocks, so its calls are work for the driver, stream events one by one. It does not retry: this room does that, for all providers
alike.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from gateleg.ai.errors import AiError, BadAnswer, ExtraMissing, ModelTimedOut, ModelUnreachable, NotOffered
from gateleg.ai.providers.counting import estimate
from gateleg.ai.steps import Say, Work, at_once
from gateleg.extras import install_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gateleg.ai.asking import ChatRequest
    from gateleg.ai.messages import Attachment, UploadedFile
    from gateleg.ai.providers.remote import StreamReader
    from gateleg.ai.replies import Gathering, Reply, TokenCount
    from gateleg.ai.retry_policy import Deadline
    from gateleg.ai.steps import Flow

T = TypeVar("T")
_END: Any = object()
#: What HTTP libraries call their failures.
_LOST = ("Connect", "Transport", "Network", "ReadError", "ProtocolError")


class Sdk(Protocol):
    """A provider's SDK, in the plain dictionaries of its protocol."""

    def call(self, request: ChatRequest, seconds: float) -> dict[str, Any]:
        """A whole answer."""
        ...

    def events(self, request: ChatRequest, seconds: float) -> Iterator[dict[str, Any]]:
        """The events of a stream."""
        ...

    def reply(self, body: dict[str, Any], request: ChatRequest) -> Reply:
        """Read a whole answer."""
        ...

    def reader(self, request: ChatRequest) -> StreamReader:
        """What reads the events of a stream."""
        ...

    def failure(self, error: Exception) -> AiError | None:
        """What an error of the SDK means; None for one that is not its own."""
        ...


@runtime_checkable
class FileSdk(Protocol):
    """An SDK of a provider that keeps files."""

    def upload(self, file: Attachment, seconds: float) -> UploadedFile:
        """Keep a file."""
        ...

    def forget(self, upload: UploadedFile, seconds: float) -> None:
        """Delete a file."""
        ...


class SdkChat:
    """A chat model behind an SDK."""

    def __init__(self, model: str, sdk: Sdk) -> None:
        self.model = model
        self.sdk = sdk

    def reply(self, request: ChatRequest, deadline: Deadline) -> Flow[Reply]:
        """The answer as a whole."""
        body = yield Work(partial(told, self.sdk.failure, partial(self.sdk.call, request, deadline.wait())))
        return told(self.sdk.failure, partial(self.sdk.reply, body, request))

    def stream(self, request: ChatRequest, deadline: Deadline, gathering: Gathering) -> Flow[Reply]:
        """The answer piece by piece."""
        reader = self.sdk.reader(request)
        events = self.sdk.events(request, deadline.wait())
        try:
            while (event := (yield Work(partial(told, self.sdk.failure, partial(next, events, _END))))) is not _END:
                deadline.left()
                for delta in told(self.sdk.failure, partial(reader.read, event)):
                    gathering.add(delta)
                    yield Say(delta)
        finally:
            close(events)
        if reader.finish is None:
            raise ModelUnreachable("The stream ended before the answer did.")
        return gathering.whole(reader.finish, reader.usage, reader.model or self.model)

    def upload(self, file: Attachment, deadline: Deadline) -> Flow[UploadedFile]:
        """Keep a file at the provider."""
        if not isinstance(self.sdk, FileSdk):
            raise NotOffered("This provider does not store files.", fix="Send the file with the message, as an Attachment.")
        upload: UploadedFile = yield Work(partial(told, self.sdk.failure, partial(self.sdk.upload, file, deadline.wait())))
        return upload

    def forget(self, upload: UploadedFile, deadline: Deadline) -> Flow[None]:
        """Have the provider delete a file."""
        if not isinstance(self.sdk, FileSdk):
            raise NotOffered("This provider does not store files.")
        yield Work(partial(told, self.sdk.failure, partial(self.sdk.forget, upload, deadline.wait())))

    def count(self, text: str, deadline: Deadline) -> Flow[TokenCount]:
        """How long a text is: an estimate."""
        return at_once(estimate(text))


def told(failure: Callable[[Exception], AiError | None], call: Callable[[], T]) -> T:
    """What a call gives; an error of the SDK, or of the HTTP library below it, as one of this room."""
    try:
        return call()
    except AiError:
        raise
    except Exception as error:
        raise failure(error) or _generic(error) from error


def close(events: Iterator[Any]) -> None:
    """Give a stream up. A thread that is still reading from it ends with the connection."""
    closing = getattr(events, "close", None)
    if closing is not None:
        try:
            closing()
        except (ValueError, RuntimeError):
            # The generator is running in a thread that nobody waits for any more.
            return


def imported(module: str, extra: str) -> Any:
    """A module of an SDK; an error that names the extra if it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise ExtraMissing(f"The SDK {module.split('.')[0]} is not installed.", fix=install_hint(extra)) from error


def _generic(error: Exception) -> AiError:
    names = [kind.__name__ for kind in type(error).__mro__]
    if any("Timeout" in name for name in names):
        return ModelTimedOut(f"The service did not answer in time ({names[0]}).")
    if any(word in name for name in names for word in _LOST) or isinstance(error, OSError):
        return ModelUnreachable(f"The service could not be reached, or the connection was lost ({names[0]}).")
    bad = BadAnswer(f"The answer is not of the documented form: {names[0]}: {str(error)[:200]}.")
    bad.public = BadAnswer.said
    return bad
