"""The base of every error that Gateleg raises for its users.

Each error has a stable `code` (its place in docs/reference/errors.md), a `message` that says what happened, and a `fix`: what to do about
it. `except GatelegError` catches them all; each room has a base of its own below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["GatelegError"]


def problem_message(problem: Mapping[str, Any]) -> str:
    """The message of one of pydantic's problems: without pydantic's own prefix, and with what is wrong in JSON that cannot be parsed."""
    text = str(problem["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
    reason = problem.get("ctx", {}).get("error") if problem["type"] == "json_invalid" else None
    return f"{text}: {reason}" if reason else text


class GatelegError(Exception):
    """Something that Gateleg refuses, or could not do.

    Subclasses set `code`, `fix` and `status`; `why` where the reason is always the same. A raised error may replace `why` and `fix` by
    words about the case at hand. Errors can be pickled, whatever their constructors take.
    """

    #: short and stable: what programs compare
    code = "error"
    #: the reason, where the message alone does not say it
    why = ""
    #: what to do about it; empty where each message says so itself
    fix = ""
    #: the HTTP status with which a host answers it
    status = 500
    #: what a host answers in place of `message`, where that repeats the words of another service; its log has the message
    public: str | None = None

    def __init__(self, message: str, *, why: str | None = None, fix: str | None = None) -> None:
        self.message = message
        if why is not None:
            self.why = why
        if fix is not None:
            self.fix = fix
        #: what programs may want to know besides; a host puts it into its answer
        self.details: dict[str, Any] = {}
        super().__init__(f"{_sentences(message, self.why, self.fix)} [{self.code}]")

    @property
    def public_text(self) -> str:
        """What happened and what to do, in one text for callers of a host: `public` or the message, then the fix."""
        return _sentences(self.public or self.message, self.fix)

    @classmethod
    def _restore(cls, args: tuple[Any, ...], state: dict[str, Any]) -> Self:
        error = cls.__new__(cls, *args)
        error.__dict__.update(state)
        return error

    def __reduce__(self) -> Any:
        """Errors cross process boundaries whole, whatever their constructors take."""
        return type(self)._restore, (self.args, self.__dict__)


def _sentences(*texts: str) -> str:
    """The texts in one line. A text that another one follows ends with a full stop, if it has no other mark."""
    *before, last = [text for text in texts if text] or [""]
    return " ".join([*(text if text.endswith((".", "!", "?", ":", ";")) else f"{text}." for text in before), last])
