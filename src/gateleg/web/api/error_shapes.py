"""The error envelope, for the documentation of the API."""

from typing import Any

from pydantic import BaseModel, Field


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(description="A stable code for programs.")
    message: str = Field(description="What happened, in words.")
    details: dict[str, Any] = Field(description="Further details; `fix` says what to do.")


class ErrorEnvelope(BaseModel):
    """The form of every error."""

    error: ErrorBody


#: The errors that every route may respond with.
FAILURES = {
    400: "The request is malformed.",
    401: "The request is not authenticated, or the key is no longer valid.",
    403: "The caller may not do this.",
    404: "It does not exist, or the caller may not see it.",
    409: "It conflicts with what is stored now.",
    413: "It is too large.",
    422: "The request is not valid.",
    429: "The key has reached its rate limit.",
    503: "The store cannot be used right now.",
}
