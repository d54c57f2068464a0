"""Translates network errors into errors of models."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.ai.errors import InvalidModelRequest, InvalidModelResponse, ModelTimedOut, ModelUnreachable
from gateleg.net.http import BadHeader, BadResponse, HttpError, ResponseTimedOut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.ai.errors import AiError

#: Larger than any response of a model: a batch of 2,048 vectors of 3,072 numbers is at most 130 MB.
LIMIT = 256 * 1024 * 1024


@contextmanager
def translated_errors() -> Iterator[None]:
    """Translate network errors raised in the block."""
    try:
        yield
    except HttpError as error:
        raise model_error(error) from error
    except BadHeader as error:
        raise InvalidModelRequest(str(error), fix="Check the key.") from error


def model_error(error: HttpError) -> AiError:
    """The error for a request without a response."""
    failure: AiError
    if isinstance(error, BadResponse):
        failure = InvalidModelResponse(error.message)
    elif isinstance(error, ResponseTimedOut):
        failure = ModelTimedOut(error.message)
    else:
        failure = ModelUnreachable(error.message)
        failure.passing = not error.permanent
        failure.sent = error.sent
    # Reasons contain addresses, possibly of an internal network.
    failure.public = type(failure).said
    return failure
