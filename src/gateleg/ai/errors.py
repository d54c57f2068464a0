"""Errors of models: one class for each kind of failure, with a code, what happened and what to do.

`passing` says whether the same call may succeed later. No error contains a key. A message may quote the service, which may repeat what was
sent, and name an address; a host responds with `public` instead, and with `public_fix` where `fix` is advice for its operators.
"""

from __future__ import annotations

import math

from gateleg.errors import GatelegError


class AiError(GatelegError):
    """The base of all errors of models and of the services that run them."""

    status = 502
    #: whether the same call may succeed later
    passing = False
    #: whether the service may have received the request; False if there was no connection
    sent = True
    #: seconds to wait before the next call, as requested by a service or a spend cap
    retry_after: float | None = None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a host's response."""
        return {} if self.retry_after is None else {"Retry-After": str(math.ceil(self.retry_after))}


class BadModelAddress(AiError, ValueError):
    """The text is not a valid model address."""

    status = 422
    fix = "Use local:smollm2, local:minilm, ollama:llama3.2@http://host:11434, openai:gpt-x@https://host/v1 or anthropic:..."


class WeightsMissing(AiError):
    """The weights of a local model, or the libraries that run them, are not installed."""

    status = 503
    public = "The local model is not installed on this host."
    public_fix = "Ask an operator of this host."


class ExtraMissing(AiError):
    """A package that the provider of a model needs is not installed."""

    status = 503
    public = "The provider of the model is not installed on this host."
    public_fix = "Ask an operator of this host."


class KeyMissing(AiError):
    """A provider needs a key, and none is configured. Environment variables are read only if the settings name them."""

    code = "model-key-missing"
    status = 503
    fix = "Set key_env in [models.providers.NAME] of gateleg.toml to the environment variable that holds it; in Python, pass key=..."
    public = "This host has no key for the model."
    public_fix = "Ask an operator of this host."


class InvalidModelRequest(AiError, ValueError):
    """The call is not valid: no messages, a temperature out of range, a tool result without its call."""

    status = 422
    fix = "Correct the call; nothing was sent."


class NothingSubmitted(InvalidModelRequest):
    """No media were submitted under this token."""

    code = "invalid-model-request"
    fix = "Submit the request under this token first."


class NotOffered(AiError):
    """The model does not support what was requested."""

    status = 422
    fix = "Choose another model, or omit the option."


class SpendCapReached(AiError):
    """A call would exceed the daily spend cap (UTC) of an application or a tenant. Nothing was sent."""

    status = 429
    fix = "Wait for the next day (UTC), or raise the cap in [models.caps] of the host's settings."
    public_fix = "Wait for the next day (UTC), ask for a shorter answer, or ask an operator of this host."

    def __init__(self, what: str, *, retry_after: float, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class PriceUnknown(AiError):
    """A spend cap is set, but the price of the model is not known. Nothing was sent."""

    status = 503
    fix = "Set the price of the model in [models.prices] of the host's settings; it may be 0."
    public = "There is a spend cap, but no known price for the model."
    public_fix = "Ask an operator of this host."


class ContentRefused(AiError):
    """The request, or its result, violates the provider's content policy. It is not retried."""

    status = 422
    fix = "Change the request, and submit it under another token."


class MediaFailed(AiError):
    """A provider accepted a job and could not finish it."""

    fix = "Submit it again under the same token, or choose another model."


class SubmissionUnknown(AiError):
    """It is not known whether the provider received a job. Submitting it again might cost twice."""

    status = 409
    fix = "Check the provider's list of jobs; use another token to submit it again."


class ContextExceeded(AiError):
    """The messages are longer than the context window of the model."""

    status = 422
    fix = "Send fewer or shorter messages; `count` returns the tokens of a text."


class ModelRefused(AiError):
    """The service rejected the call as invalid, or does not know the model."""

    status = 422
    fix = "Check the name of the model and the options against the documentation of the service."


class ModelAccessDenied(AiError):
    """The key is wrong, or does not allow this model."""

    fix = "Check the key and its permissions at the provider."


class RateLimited(AiError):
    """The service throttled the call. `retry_after` has the seconds that it asked to wait, if it did."""

    status = 503
    fix = "Send fewer requests, or raise the quota at the provider."
    passing = True

    def __init__(self, what: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class ModelFailed(AiError):
    """The service failed. `retry_after` has the seconds that it asked to wait, if it did."""

    fix = "Try again later."
    passing = True

    def __init__(self, what: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class ModelUnreachable(AiError):
    """There is no connection to the service, or it broke before the response was complete."""

    #: for callers of a host
    said = "The model's service cannot be reached."
    status = 503
    fix = "Check that the service is running, its address, and the network."
    public_fix = "Try again later, or ask an operator of this host."
    passing = True


class ModelTimedOut(AiError):
    """The call exceeded its timeout."""

    #: for callers of a host
    said = "The model's response took too long."
    status = 504
    fix = "Increase the timeout, or request less output."
    passing = True


class StreamBroken(AiError):
    """A stream broke off. `text` has what was received. It is not retried, because that would repeat text."""

    fix = "Send the request again."
    passing = True

    def __init__(self, what: str, *, text: str = "", fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.text = text


class InvalidModelResponse(AiError):
    """The response is not what the service documents: broken JSON, missing members, vectors of different lengths."""

    #: for callers of a host
    said = "The response of the model's service is not valid."
    fix = "Check that the address belongs to a service of this kind."
    public_fix = "Try again later, or ask an operator of this host."


class BadArguments(AiError, ValueError):
    """A model called a tool with arguments that are not a JSON object."""

    fix = "Report it in the tool's result (failed=True); models usually correct themselves."


class BadStructure(AiError):
    """A model did not return the requested structure, even after its problems were sent back.

    `text` is its last reply, `problems` what is wrong with it, `attempts` the number of calls.
    """

    fix = "Use a more capable model, a simpler structure or more max_tokens."

    def __init__(self, what: str, *, text: str, problems: list[str], attempts: int) -> None:
        super().__init__(what)
        self.text = text
        self.problems = problems
        self.attempts = attempts
