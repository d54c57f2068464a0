"""The error envelope as the documents of the API show it."""

from typing import Any

from pydantic import BaseModel, Field


class ErrorBody(BaseModel):
    """What went wrong."""

    code: str = Field(description="Stable; to decide by.")
    message: str = Field(description="What happened, in words.")
    details: dict[str, Any] = Field(description="What is known besides; `fix` says what to do.")


class ErrorEnvelope(BaseModel):
    """The form of every error."""

    error: ErrorBody


#: What every route may answer with besides its result.
FAILURES = {
    400: "The request cannot be understood.",
    401: "The request is not authenticated, or the key is no longer valid.",
    403: "The caller may not do this.",
    404: "There is nothing of that name.",
    409: "It conflicts with what is stored now.",
    413: "It is too large.",
    422: "The request is not valid.",
    429: "The key has made too many requests.",
    503: "The store cannot be used right now.",
}
