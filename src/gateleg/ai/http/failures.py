"""What the two clients say when a connection fails them."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

from gateleg.ai.errors import ModelTimedOut, ModelUnreachable

if TYPE_CHECKING:
    from gateleg.store.transports.addresses import Address


class Stale(Exception):
    """A kept connection was closed by the service before it answered: the request can be sent again at once on another."""


def no_connection(address: Address, error: OSError) -> ModelUnreachable:
    """The failure to connect. A certificate that is not trusted will not be so a moment later."""
    failure = ModelUnreachable(f"No connection to {address.url}: {error or 'it took too long'}.")
    failure.passing = not isinstance(error, ssl.SSLCertVerificationError)
    return failure


def lost(error: OSError) -> ModelUnreachable:
    """A connection that broke."""
    return ModelUnreachable(f"The connection was lost: {error or type(error).__name__}.")


def silent(address: Address) -> ModelTimedOut:
    """Nothing came for too long."""
    return ModelTimedOut(f"{address.url} did not answer in time.")
