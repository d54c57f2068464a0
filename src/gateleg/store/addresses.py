"""Store addresses, as used in configuration: `embedded:./data`, `dynamodb:eu-west-1`, `http://host:8001`.

`embedded:./data?durability=relaxed` does not wait for the disk at each commit, so a power cut may lose the most recent writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gateleg.store.errors import BadAddress, shown_address

if TYPE_CHECKING:
    from gateleg.store.transports import AsyncTransport, Transport
    from gateleg.store.transports.http import HttpOptions

__all__ = ["parse_address"]

#: The number of concurrent requests of one batch or scan over a network. An embedded engine gains nothing from concurrency.
_NETWORK_CONCURRENCY = 8


@dataclass(frozen=True)
class StoreAddress:
    """A parsed store address. `place` is the path of an embedded engine, the region of Amazon DynamoDB, or the URL of an endpoint."""

    kind: Literal["embedded", "dynamodb", "endpoint"]
    place: str
    #: for an embedded engine: whether commits wait for the disk
    durability: Literal["full", "relaxed"] = "full"


def parse_address(text: str) -> StoreAddress:
    """Parse an address; raise `BadAddress` if it is invalid. `dynamodb:` without a region uses the region of the AWS configuration."""
    argument: Any = text
    if argument is None:
        raise BadAddress("None is not the address of a store.")
    if not isinstance(text, str):
        raise BadAddress(f"{text!r} is not a store address.", fix=f"Write Store.embedded({str(text)!r}) for a folder or a file.")
    kind, colon, place = text.partition(":")
    if colon and kind == "embedded" and place:
        return _embedded(*place.partition("?")[::2])
    if colon and kind == "dynamodb":
        return StoreAddress("dynamodb", place)
    if kind in ("http", "https") and place.startswith("//") and len(place) > 2:
        return StoreAddress("endpoint", text)
    raise BadAddress(f"{shown_address(text)!r} is not a store address.")


def _embedded(place: str, options: str) -> StoreAddress:
    name, _, value = options.partition("=")
    if place and (not options or (name == "durability" and value in ("full", "relaxed"))):
        return StoreAddress("embedded", place, "relaxed" if value == "relaxed" else "full")
    raise BadAddress(
        f"'embedded:{shown_address(place)}?{shown_address(options)}' is not a store address.",
        fix="After the question mark, write durability=full or durability=relaxed.",
    )


def concurrency_of(text: str) -> int:
    """The default number of concurrent requests of one operation to a store at this address."""
    return 1 if parse_address(text).kind == "embedded" else _NETWORK_CONCURRENCY


def open_transport(text: str) -> Transport:
    """Open the transport to the store at an address."""
    address = parse_address(text)
    if address.kind == "embedded":
        from gateleg.store.transports.embedded import open_embedded

        return open_embedded(address.place, address.durability)
    from gateleg.store.transports.http import WireTransport

    return WireTransport(_options(address))


def open_async_transport(text: str) -> AsyncTransport:
    """Open the async transport to the store at an address."""
    address = parse_address(text)
    if address.kind == "embedded":
        from gateleg.store.transports.embedded import open_async_embedded

        return open_async_embedded(address.place, address.durability)
    from gateleg.store.transports.http import AsyncWireTransport

    return AsyncWireTransport(_options(address))


def _options(address: StoreAddress) -> HttpOptions:
    from gateleg.store.transports.http import HttpOptions

    return HttpOptions(endpoint=address.place) if address.kind == "endpoint" else HttpOptions(region=address.place or None)
