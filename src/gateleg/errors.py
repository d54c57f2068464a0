"""The base class of all errors that Gateleg raises for its users.

Each error has a stable `code` (listed in docs/reference/errors.md), a `message` that says what happened, and a `fix` that says what to do.
`except GatelegError` catches them all; each room derives its own base class from it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GatelegError"]

_MAX_SHOWN = 200
#: The pattern of a text that must contain more than blanks.
NOT_BLANK = r"\S"
#: Between the words of a class name.
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def shown(value: object) -> str:
    """The `repr` of a value for a message, shortened: an object in place of its id may be very long."""
    text = repr(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}..."


def problem_message(problem: Mapping[str, Any]) -> str:
    """The message of one of pydantic's problems: without pydantic's own prefix and our code, and with what is wrong in invalid JSON."""
    raised = problem.get("ctx", {}).get("error")
    if isinstance(raised, GatelegError):
        return _sentences(raised.message, raised.why, raised.fix).removesuffix(".")
    if problem.get("type") == "string_pattern_mismatch" and problem.get("ctx", {}).get("pattern") == NOT_BLANK:
        return "Text should not be blank"
    text = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    return f"{text}: {raised}" if raised and problem["type"] == "json_invalid" else text


class GatelegError(Exception):
    """The base class of all errors of Gateleg.

    Subclasses set `fix` and `status`, and `why` if the reason is always the same. A raised error may override `why` and `fix`. The `code`
    of a class is its name in lower case with hyphens, without `Error` at its end, unless the class sets another one: `LostRace` has
    `lost-race`. All errors can be pickled.
    """

    #: a short, stable identifier that programs can compare; derived from the name of the class
    code = "error"
    #: the reason, if the message does not already give it
    why = ""
    #: what to do about it; empty if the message already says it
    fix = ""
    #: the HTTP status that a host answers with
    status = 500
    #: what a host answers instead of `message` when the message repeats text of another service; the host still logs the message
    public: str | None = None
    #: what a host answers instead of `fix` when that is advice for its operators
    public_fix: str | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "code" not in cls.__dict__:
            cls.code = _WORDS.sub("-", cls.__name__.removesuffix("Error")).lower()

    def __init__(self, message: str, *, why: str | None = None, fix: str | None = None) -> None:
        self.message = message
        if why is not None:
            self.why = why
        if fix is not None:
            self.fix = fix
        #: structured details for programs; a host includes them in its answer
        self.details: dict[str, Any] = {}
        super().__init__(f"{_sentences(message, self.why, self.fix)} [{self.code}]")

    @property
    def public_text(self) -> str:
        """The text that a host answers with: `public` or else the message, then the fix."""
        return _sentences(self.public or self.message, self.fix if self.public_fix is None else self.public_fix)

    @classmethod
    def _restore(cls, args: tuple[Any, ...], state: dict[str, Any]) -> Self:
        error = cls.__new__(cls, *args)
        error.__dict__.update(state)
        return error

    def __reduce__(self) -> Any:
        """Pickle the state rather than the constructor arguments, which differ between subclasses."""
        return type(self)._restore, (self.args, self.__dict__)


def _sentences(*texts: str) -> str:
    """Join the texts into one line, with a full stop after each one but the last unless it already ends with punctuation."""
    *before, last = [text for text in texts if text] or [""]
    return " ".join([*(text if text.endswith((".", "!", "?", ":", ";")) else f"{text}." for text in before), last])
