"""Errors of models: one class for each kind of failure, with a code, what happened and what to do.

`passing` says whether the same call may well succeed later. No error holds a key, or what was said to the model.
"""

from __future__ import annotations

from typing import Any


class ModelError(Exception):
    """The base of all errors of models."""

    code = "model"
    #: what to do about it; empty where each message says so itself
    fix = ""
    #: whether the same call may succeed later
    passing = False

    def __init__(self, what: str, *, fix: str | None = None) -> None:
        self.what = what
        if fix is not None:
            self.fix = fix
        super().__init__(" ".join(filter(None, (what, self.fix, f"[{self.code}]"))))

    def __reduce__(self) -> Any:
        """Errors cross process boundaries whole, whatever their constructors take."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[ModelError], args: tuple[Any, ...], state: dict[str, Any]) -> ModelError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(state)
    return error


class BadModelAddress(ModelError, ValueError):
    """The text is not a valid model address."""

    code = "bad-model-address"
    fix = "Write local:smollm2, local:minilm, ollama:llama3.2@http://host:11434, openai:gpt-x@https://host/v1 or anthropic:..."


class WeightsMissing(ModelError):
    """The package with a local model's weights, or what runs them, is not installed."""

    code = "weights-missing"


class ExtraMissing(ModelError):
    """The official SDK of a provider is not installed."""

    code = "extra-missing"


class KeyMissing(ModelError):
    """A provider needs a key, and none was given for it. Keys are never read from the environment."""

    code = "model-key-missing"
    fix = "Give the key as an argument, or in the settings under the provider's name or the endpoint's URL."


class BadAsk(ModelError, ValueError):
    """A call that cannot be made: no messages, a temperature out of range, a tool result without its call."""

    code = "bad-ask"
    fix = "Correct the call; nothing was sent."


class NotOffered(ModelError):
    """The model does not support the request."""

    code = "not-offered"
    fix = "Choose another model, or omit the option."


class ContextExceeded(ModelError):
    """The messages exceed the context window of the model."""

    code = "context-exceeded"
    fix = "Send fewer or shorter messages; `count` measures a text."


class ModelRefused(ModelError):
    """The service found the call invalid, or does not know the model."""

    code = "model-refused"
    fix = "Check the model's name and the options against what the service offers."


class ModelAccessDenied(ModelError):
    """The key is wrong, or not allowed to use this model."""

    code = "model-access-denied"
    fix = "Check the key and its rights at the provider."


class RateLimited(ModelError):
    """The service limits the rate of requests. `retry_after` is the wait in seconds that it asked for, if any."""

    code = "rate-limited"
    fix = "Slow down, or raise the quota at the provider."
    passing = True

    def __init__(self, what: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class ModelFailed(ModelError):
    """The service had an internal error. `retry_after` is the wait in seconds that it asked for, if any."""

    code = "model-failed"
    fix = "Try again later."
    passing = True

    def __init__(self, what: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class ModelUnreachable(ModelError):
    """No connection to the service, or it broke before the answer was complete."""

    code = "model-unreachable"
    fix = "Check that the service runs, its address and the network."
    passing = True


class ModelTimedOut(ModelError):
    """The answer exceeded its deadline."""

    code = "model-timed-out"
    fix = "Give it more time, or ask for less."
    passing = True


class StreamBroken(ModelError):
    """A stream broke before the answer was complete. `text` has what was received; it is not retried, because that would repeat text."""

    code = "stream-broken"
    fix = "Ask again; `text` has what was received."
    passing = True

    def __init__(self, what: str, *, text: str = "", fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.text = text


class BadAnswer(ModelError):
    """The response is not what the service documents: broken JSON, missing members, vectors of different lengths."""

    code = "bad-answer"
    fix = "Check that the address is that of a service of this kind."


class BadArguments(ModelError, ValueError):
    """A model called a tool with arguments that are not a JSON object."""

    code = "bad-arguments"
    fix = "Report it in the tool's result (failed=True); models usually correct themselves."


class BadStructure(ModelError):
    """A model did not produce valid structured output, even after it got the validation errors.

    `text` is its last answer, `problems` what is wrong with it, `attempts` how often it was asked.
    """

    code = "bad-structure"
    fix = "Use a more capable model, a simpler structure or more max_tokens."

    def __init__(self, what: str, *, text: str, problems: list[str], attempts: int) -> None:
        super().__init__(what)
        self.text = text
        self.problems = problems
        self.attempts = attempts
