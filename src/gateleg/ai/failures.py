"""From failures of the network to errors of models."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from gateleg.ai.errors import BadAnswer, BadAsk, ModelTimedOut, ModelUnreachable
from gateleg.net.http import BadHeader, BadResponse, HttpError, ResponseTimedOut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.ai.errors import AiError

#: No answer of a model is near this size: a batch of 2,048 vectors of 3,072 numbers is 130 MB at worst.
LIMIT = 256 * 1024 * 1024


@contextmanager
def failures() -> Iterator[None]:
    """Raise what goes wrong within, on the way to a model, as an error of this room."""
    try:
        yield
    except HttpError as error:
        raise model_error(error) from error
    except BadHeader as error:
        raise BadAsk(str(error), fix="Check the key.") from error


def model_error(error: HttpError) -> AiError:
    """The error of this room for a request that got no response."""
    failure: AiError
    if isinstance(error, BadResponse):
        failure = BadAnswer(error.reason)
    elif isinstance(error, ResponseTimedOut):
        failure = ModelTimedOut(error.reason)
    else:
        failure = ModelUnreachable(error.reason)
        failure.passing = not error.permanent
        failure.sent = error.sent
    # Reasons name addresses, which may be of the inside of somebody's network.
    failure.public = type(failure).said
    return failure
