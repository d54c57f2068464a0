"""Errors of models: one class for each kind of failure, with a code, what happened and what to do.

`passing` says whether the same call may well succeed later. No error holds a key. A message may have the words of the service, which may
repeat what was sent: `public` is what a host answers instead.
"""

from __future__ import annotations

import math

from gateleg.errors import GatelegError


class AiError(GatelegError):
    """Something that a model, or the service that runs it, could not do."""

    code = "ai"
    status = 502
    #: whether the same call may succeed later
    passing = False
    #: whether the service may have had the request; False when it was never connected
    sent = True
    #: the seconds that a service, or a cap, wants to be left alone for
    retry_after: float | None = None

    @property
    def headers(self) -> dict[str, str]:
        """What a host's answer has in its head."""
        return {} if self.retry_after is None else {"Retry-After": str(math.ceil(self.retry_after))}


class BadModelAddress(AiError, ValueError):
    """Text that names no model."""

    code = "bad-model-address"
    status = 422
    fix = "Write local:smollm2, local:minilm, ollama:llama3.2@http://host:11434, openai:gpt-x@https://host/v1 or anthropic:..."


class WeightsMissing(AiError):
    """The package with a local model's weights, or what runs them, is not installed."""

    code = "weights-missing"
    status = 503


class ExtraMissing(AiError):
    """The official SDK of a provider is not installed."""

    code = "extra-missing"
    status = 503


class KeyMissing(AiError):
    """A provider needs a key, and none was given for it. Variables of the environment are read only if the settings name them."""

    code = "model-key-missing"
    status = 503
    fix = "Name the environment variable that holds it: key_env below [models.providers.NAME] in gateleg.toml; in Python, give key=..."


class BadAsk(AiError, ValueError):
    """A call that cannot be made: no messages, a temperature out of range, a tool result without its call."""

    code = "bad-ask"
    status = 422
    fix = "Correct the call; nothing was sent."


class NothingSubmitted(BadAsk):
    """A token under which no media were asked for."""

    fix = "Submit the request first, under the same token."


class NotOffered(AiError):
    """The model cannot do what was asked of it."""

    code = "not-offered"
    status = 422
    fix = "Choose another model, or leave that out."


class SpendCapReached(AiError):
    """A call would take an application or a tenant over what it may spend in a day (UTC). Nothing was sent."""

    code = "spend-cap-reached"
    status = 429
    fix = "Wait for the next day, or raise the cap: [models.caps] in the settings of the host."

    def __init__(self, what: str, *, retry_after: float, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class PriceUnknown(AiError):
    """A spend cap is set, and what the model costs is not known. Nothing was sent."""

    code = "price-unknown"
    status = 503
    fix = "Give the price of the model in the settings, below [models.prices]; 0 is a price, too."


class ContentRefused(AiError):
    """What was asked for, or what came of it, is against the provider's rules for content. It is not asked for again."""

    code = "content-refused"
    status = 422
    fix = "Change what you ask for, and ask under another token."


class MediaFailed(AiError):
    """A provider has taken a job and could not finish it."""

    code = "media-failed"
    fix = "Submit it again under the same token, or choose another model."


class SubmissionUnknown(AiError):
    """Whether a provider has a job is not known, and to submit it again might pay for it twice."""

    code = "submission-unknown"
    status = 409
    fix = "Look at the provider's own list of jobs; use another token to have it made again."


class ContextExceeded(AiError):
    """The messages are longer than the model can take in."""

    code = "context-exceeded"
    status = 422
    fix = "Send fewer or shorter messages; `count` tells how long a text is."


class ModelRefused(AiError):
    """The service found the call invalid, or does not know the model."""

    code = "model-refused"
    status = 422
    fix = "Check the model's name and the options against what the service offers."


class ModelAccessDenied(AiError):
    """The key is wrong, or not allowed to use this model."""

    code = "model-access-denied"
    fix = "Check the key and its rights at the provider."


class RateLimited(AiError):
    """The service is asked for too much. `retry_after` has the seconds that it wants, if it said so."""

    code = "rate-limited"
    status = 503
    fix = "Slow down, or raise the quota at the provider."
    passing = True

    def __init__(self, what: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class ModelFailed(AiError):
    """The service had an error of its own. `retry_after` has the seconds that it wants, if it said so."""

    code = "model-failed"
    fix = "Try again later."
    passing = True

    def __init__(self, what: str, *, retry_after: float | None = None, fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.retry_after = retry_after


class ModelUnreachable(AiError):
    """No connection to the service, or it broke before the answer was whole."""

    #: in words for callers of a host
    said = "The service of the model cannot be reached."
    code = "model-unreachable"
    status = 503
    fix = "Check that the service runs, its address and the network."
    passing = True


class ModelTimedOut(AiError):
    """The answer took longer than it was given."""

    #: in words for callers of a host
    said = "The answer took too long."
    code = "model-timed-out"
    status = 504
    fix = "Give it more time, or ask for less."
    passing = True


class StreamBroken(AiError):
    """A stream ended before the answer did. What had come is in `text`; it is not tried again, as that would say things twice."""

    code = "stream-broken"
    fix = "Ask again; `text` has what was received."
    passing = True

    def __init__(self, what: str, *, text: str = "", fix: str | None = None) -> None:
        super().__init__(what, fix=fix)
        self.text = text


class BadAnswer(AiError):
    """What came back is not what the service documents: broken JSON, missing members, vectors of different lengths."""

    #: in words for callers of a host
    said = "The answer is not what the service documents."
    code = "bad-answer"
    fix = "Check that the address is that of a service of this kind."


class BadArguments(AiError, ValueError):
    """A model called a tool with arguments that are not a JSON object."""

    code = "bad-arguments"
    fix = "Report it in the tool's result (failed=True); models usually correct themselves."


class BadStructure(AiError):
    """A model did not give the structure it was asked for, also after it was told what was wrong.

    `text` is its last answer, `problems` what is wrong with it, `attempts` how often it was asked.
    """

    code = "bad-structure"
    fix = "Use a more capable model, a simpler structure or more max_tokens."

    def __init__(self, what: str, *, text: str, problems: list[str], attempts: int) -> None:
        super().__init__(what)
        self.text = text
        self.problems = problems
        self.attempts = attempts
