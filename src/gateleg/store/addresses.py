"""Store addresses, as used in configuration: `embedded:./data`, `dynamodb:eu-west-1`, `http://host:8001`.

`embedded:./data?durability=relaxed` does not wait for the disk at each commit: a power cut may then cost the last moments.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gateleg.store.errors import BadAddress

if TYPE_CHECKING:
    from gateleg.store.transports import AsyncTransport, Transport
    from gateleg.store.transports.http_protocol import Options

__all__ = ["MEMORY", "database_file", "parse_address"]

#: Requests of one batch or scan that may be under way at once over a network. The engine in this process gains nothing from it.
_SIDE_BY_SIDE = 8
#: The place of an embedded store that has no file.
MEMORY = ":memory:"
#: The database's name in a data folder.
DATABASE_NAME = "gateleg.db"


@dataclass(frozen=True)
class StoreAddress:
    """Where a store is: an engine by its path, Amazon DynamoDB by its region, or an endpoint by its URL."""

    kind: Literal["embedded", "dynamodb", "endpoint"]
    place: str
    #: of an engine: when its commits are durable
    durability: Literal["full", "relaxed"] = "full"


def parse_address(text: str) -> StoreAddress:
    """Read an address. `dynamodb:` without a region takes that of the AWS configuration."""
    if not isinstance(text, str):
        raise BadAddress(f"{text!r} is not the address of a store.", fix=f"Write Store.embedded({str(text)!r}) for a folder or a file.")
    kind, colon, place = text.partition(":")
    if colon and kind == "embedded" and place:
        return _embedded(*place.partition("?")[::2])
    if colon and kind == "dynamodb":
        return StoreAddress("dynamodb", place)
    if kind in ("http", "https") and place.startswith("//") and len(place) > 2:
        return StoreAddress("endpoint", text)
    raise BadAddress(f"{text!r} is not the address of a store.")


def _embedded(place: str, options: str) -> StoreAddress:
    name, _, value = options.partition("=")
    if place and (not options or (name == "durability" and value in ("full", "relaxed"))):
        return StoreAddress("embedded", place, "relaxed" if value == "relaxed" else "full")
    raise BadAddress(
        f"embedded:{place}?{options} is not the address of a store.",
        fix="After the question mark, write durability=full or durability=relaxed.",
    )


def database_file(path: str) -> str:
    """The SQLite file that a path means: `:memory:`, a file that is there or is named `*.db`, or else `gateleg.db` in that folder."""
    if path == MEMORY:
        return path
    place = Path(path)
    if place.is_file() or (place.suffix == ".db" and not place.is_dir()):
        return str(place)
    return str(place / DATABASE_NAME)


def concurrency_of(text: str) -> int:
    """How many requests are worth sending side by side to an address."""
    return 1 if parse_address(text).kind == "embedded" else _SIDE_BY_SIDE


def open_transport(text: str) -> Transport:
    """The transport to an address."""
    address = parse_address(text)
    if address.kind == "embedded":
        from gateleg.store.transports.embedded import open_embedded

        return open_embedded(address.place, address.durability)
    from gateleg.store.transports.http import WireTransport

    return WireTransport(_options(address))


def open_async_transport(text: str) -> AsyncTransport:
    """The transport to an address, awaited."""
    address = parse_address(text)
    if address.kind == "embedded":
        from gateleg.store.transports.embedded import open_async_embedded

        return open_async_embedded(address.place, address.durability)
    from gateleg.store.transports.async_http import AsyncWireTransport

    return AsyncWireTransport(_options(address))


def _options(address: StoreAddress) -> Options:
    from gateleg.store.transports.http_protocol import Options

    return Options(endpoint=address.place) if address.kind == "endpoint" else Options(region=address.place or None)
