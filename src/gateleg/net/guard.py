"""Which addresses a host may send requests to when users supply them: the guard against server-side request forgery. Pure.

A tenant who names `http://169.254.169.254/` or `http://localhost:9200/` would have the host read for them what only the host can reach.
So only public addresses are allowed, judged by the numeric address that is connected to, never by the name: `GuardedClient` in
`gateleg.net.http` resolves the name itself and connects to what was judged here.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

from gateleg.net.addresses import Address
from gateleg.net.errors import AddressRefused

__all__ = ["Guard", "is_public"]

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

#: IPv4 that is not the public Internet: the registry of special addresses, multicast, and Azure's service for its own machines, which has a
#: public address. The metadata services of all other clouds are within these.
_SPECIAL_4 = tuple(
    map(
        ipaddress.IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "168.63.129.16/32",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
        ),
    )
)
#: All public IPv6 is within the first one; the others are parts of it that are not: tunnels (Teredo, 6to4), documentation, benchmarks.
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
#: A gateway sends what goes to these on to the IPv4 address at their end.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: Names whose last part is a number are IPv4 addresses to the system's resolver, in a dozen spellings: 2130706433, 0177.1, 0x7f.0.0.1.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?")
_NAME = re.compile(r"(?=.{1,253}\.?$)[a-zA-Z0-9_](?:[a-zA-Z0-9_-]{0,62})(?:\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*\.?")
_URL = re.compile(r"[!-~]{1,8000}")


def is_public(address: IPAddress) -> bool:
    """Whether an address is one of the public Internet."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL_4)
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _GLOBAL_6 and not any(address in network for network in _SPECIAL_6)


@dataclass(frozen=True)
class Guard:
    """What may be connected to: public addresses on the given ports, and what `allow` names.

    `allow` holds host names (`hooks.internal`, `*.corp.example`), addresses and networks (`10.1.0.0/16`, `[fd00::/8]`), each with a port
    behind a colon or for all ports without. Brackets keep the colons of IPv6 apart from that of the port.
    """

    allow: tuple[str, ...] = ()
    ports: frozenset[int] = frozenset({80, 443, 8080, 8443})

    def __post_init__(self) -> None:
        _ = self._allowed

    def check_url(self, url: str) -> Address:
        """The address of a URL, if its form is allowed; where its name leads is judged by `check_address` before the connection is made."""
        if not _URL.fullmatch(url) or "\\" in url:
            raise AddressRefused("The URL has spaces, control characters or letters beyond ASCII.", fix="Percent-encode them.")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise AddressRefused("The URL cannot be read.") from None
        if parts.scheme not in ("http", "https"):
            raise AddressRefused(f"The scheme {parts.scheme!r} is not http or https.")
        if "@" in parts.netloc:
            raise AddressRefused("The URL holds a user name or a password.", fix="Send credentials in a header.")
        secure = parts.scheme == "https"
        host = _checked_host(parts.hostname or "")
        address = Address(host, port if port is not None else (443 if secure else 80), secure)
        numeric = _parsed(host)
        if numeric is not None:
            self.check_address(address, numeric)
        elif not self._names(address) and address.port not in self.ports and not self._some_network_has(address.port):
            raise self._port_refused(address)
        return address

    def check_address(self, address: Address, found: IPAddress) -> None:
        """Return if a numeric address, which the host of `address` has led to, may be connected to; raise `AddressRefused` if not."""
        plain = _plain(found)
        if self._names(address) or self._holds(plain, address.port):
            return
        if not is_public(plain):
            # The message does not include the address of the name: that would map the internal network for the caller.
            raise AddressRefused(f"{address.host} is, or leads to, an address that is not public.")
        if address.port not in self.ports:
            raise self._port_refused(address)

    def _port_refused(self, address: Address) -> AddressRefused:
        ports = ", ".join(map(str, sorted(self.ports)))
        return AddressRefused(f"Port {address.port} is not one of those that the host sends to: {ports}.")

    @cached_property
    def _allowed(self) -> tuple[_Allowed, ...]:
        return tuple(map(_allowed, self.allow))

    def _names(self, address: Address) -> bool:
        """Whether the host is allowed by its name."""
        host = address.host.rstrip(".").lower()
        return any(one.fits_name(host) and one.port in (None, address.port) for one in self._allowed)

    def _holds(self, found: IPAddress, port: int) -> bool:
        return any(one.network is not None and found in one.network and one.port in (None, port) for one in self._allowed)

    def _some_network_has(self, port: int) -> bool:
        return any(one.network is not None and one.port in (None, port) for one in self._allowed)


@dataclass(frozen=True)
class _Allowed:
    """One entry of an allow-list."""

    name: str = ""
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None
    port: int | None = None

    def fits_name(self, host: str) -> bool:
        if self.network is not None:
            return False
        return host.endswith(self.name[1:]) if self.name.startswith("*.") else host == self.name


def _allowed(text: str) -> _Allowed:
    place, port = text.strip(), None
    if match := re.fullmatch(r"(\[[^\]]+\]|[^:]+):(\d{1,5})", place):
        place, port = match[1], int(match[2])
    place = place.removeprefix("[").removesuffix("]")
    try:
        return _Allowed(network=ipaddress.ip_network(place, strict=False), port=port)
    except ValueError:
        pass
    if not _NAME.fullmatch(place.removeprefix("*.")) or _NUMERIC.fullmatch(place):
        raise ValueError(
            f"{text!r} names no host, address or network: write hooks.internal, *.corp.example, 10.1.0.0/16 or [fd00::/8]:8080"
        )
    return _Allowed(name=place.rstrip(".").lower(), port=port)


def _checked_host(host: str) -> str:
    if _parsed(host) is not None or (_NAME.fullmatch(host) and not _NUMERIC.fullmatch(host)):
        return host
    if _NUMERIC.fullmatch(host):
        raise AddressRefused(f"{host} is not an address in its usual form.", fix="Write an IPv4 address as four decimal numbers.")
    raise AddressRefused(f"{host!r} is not a host name.")


def _parsed(host: str) -> IPAddress | None:
    """The address that a host is written as; None for a name. Addresses with a zone are not addresses of the Internet."""
    if "%" in host:
        raise AddressRefused(f"{host!r} is an address of one link only.")
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _plain(found: IPAddress) -> IPAddress:
    """The IPv4 address that an IPv6 address stands for, which the system connects to in its place."""
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return mapped or found
