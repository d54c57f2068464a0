"""Addresses of services, and the guard: which addresses that users supply a host may send requests to. No I/O.

The guard protects against server-side request forgery: with `http://169.254.169.254/` or `http://localhost:9200/`, a tenant could read what
only the host can reach. So only public addresses are allowed, and the decision is made for the numeric address, not the name:
`GuardedClient` in `gateleg.net.http` resolves the name itself and connects to the address that was checked.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import quote, urlsplit

from gateleg.net.errors import AddressRefused

__all__ = ["Guard", "is_public"]

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

#: IPv4 networks that are not public: the registry of special-purpose addresses, multicast, and the public address of Azure's platform
#: service. They include the metadata services of all other clouds.
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
#: The network of all public IPv6 addresses, and its parts that are not public: tunnels (Teredo, 6to4), documentation, benchmarks.
_GLOBAL_6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")))
#: Gateways forward packets for these addresses to the IPv4 address in their last 32 bits.
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: The system's resolver treats names that end with a number as IPv4 addresses, in many notations: 2130706433, 0177.1, 0x7f.0.0.1.
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)\.?")
_NAME = re.compile(r"(?=.{1,253}\.?$)[a-zA-Z0-9_](?:[a-zA-Z0-9_-]{0,62})(?:\.[a-zA-Z0-9_][a-zA-Z0-9_-]{0,62})*\.?")
_URL = re.compile(r"[!-~]{1,8000}")
#: The domains of AWS partitions, by prefix of the region's name.
_DOMAINS = {
    "cn-": "amazonaws.com.cn",
    "us-isob-": "sc2s.sgov.gov",
    "us-isof-": "csp.hci.ic.gov",
    "us-iso-": "c2s.ic.gov",
    "eu-isoe-": "cloud.adc-e.uk",
    "eusc-": "amazonaws.eu",
}


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a service: host, port, path, and whether the connection is encrypted."""

    host: str
    port: int
    secure: bool
    path: str = "/"

    @classmethod
    def parse(cls, url: str) -> Address:
        """The address for a URL such as `http://localhost:8000`. Raises `ValueError` for anything else."""
        parts = urlsplit(url)
        if " " in url or parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"{url!r} is not an endpoint: write http://host:port or https://host")
        secure = parts.scheme == "https"
        return cls(parts.hostname, parts.port or (443 if secure else 80), secure, quote(parts.path, safe="/-_.~%") or "/")

    @property
    def authority(self) -> str:
        """The value of the `Host` header, with the port unless it is the default one."""
        name = f"[{self.host}]" if ":" in self.host else self.host
        return name if self.port == (443 if self.secure else 80) else f"{name}:{self.port}"

    @property
    def origin(self) -> str:
        """The URL without a path: scheme, host and port."""
        return f"{'https' if self.secure else 'http'}://{self.authority}"

    @property
    def url(self) -> str:
        """The address as a URL."""
        return f"{self.origin}{self.path}"


def amazon(region: str, service: str = "dynamodb") -> Address:
    """The address of an Amazon service in a region."""
    domain = next((domain for prefix, domain in _DOMAINS.items() if region.startswith(prefix)), "amazonaws.com")
    return Address(f"{service}.{region}.{domain}", 443, secure=True)


def is_loopback(host: str) -> bool:
    """Whether a host name or an address means this machine."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_public(address: IPAddress) -> bool:
    """Whether an address belongs to the public Internet."""
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL_4)
    if address in _NAT64:
        return is_public(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return address in _GLOBAL_6 and not any(address in network for network in _SPECIAL_6)


@dataclass(frozen=True)
class Guard:
    """Allows connections to public addresses on `ports`, and to the entries of `allow`.

    `allow` contains host names (`hooks.internal`, `*.corp.example`), addresses and networks (`10.1.0.0/16`, `[fd00::/8]`), each with an
    optional port after a colon. Write IPv6 in brackets. Raises `ValueError` for an invalid entry.
    """

    allow: tuple[str, ...] = ()
    ports: frozenset[int] = frozenset({80, 443, 8080, 8443})

    def __post_init__(self) -> None:
        _ = self._allowed

    def check_url(self, url: str) -> Address:
        """The address of a URL. Raises `AddressRefused` if it is not allowed. Resolved host names are checked later, by `check_address`."""
        if not _URL.fullmatch(url) or "\\" in url:
            raise AddressRefused("The URL contains spaces, control characters or non-ASCII characters.", fix="Percent-encode them.")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise AddressRefused("The URL is not valid.") from None
        if parts.scheme not in ("http", "https"):
            raise AddressRefused(f"The scheme {parts.scheme!r} is not http or https.")
        if "@" in parts.netloc:
            raise AddressRefused("The URL contains a user name or password.", fix="Send credentials in a header.")
        secure = parts.scheme == "https"
        host = _checked_host(parts.hostname or "")
        address = Address(host, port if port is not None else (443 if secure else 80), secure)
        numeric = _parsed(host)
        if numeric is not None:
            self.check_address(address, numeric)
        elif not self._names(address) and address.port not in self.ports and not self._some_network_has(address.port):
            raise self._port_refused(address)
        return address

    def check_address(self, address: Address, numeric: IPAddress) -> None:
        """Check a numeric address to which the host of `address` was resolved. Raises `AddressRefused` if it is not allowed."""
        plain = _plain(numeric)
        if self._names(address) or self._holds(plain, address.port):
            return
        if not is_public(plain):
            # The message does not include the resolved address, which would reveal the internal network to the caller.
            raise AddressRefused(f"{address.host} is, or resolves to, an address that is not public.")
        if address.port not in self.ports:
            raise self._port_refused(address)

    def _port_refused(self, address: Address) -> AddressRefused:
        ports = ", ".join(map(str, sorted(self.ports)))
        return AddressRefused(f"Port {address.port} is not one of the allowed ports: {ports}.")

    @cached_property
    def _allowed(self) -> tuple[_Allowed, ...]:
        return tuple(map(_allowed, self.allow))

    def _names(self, address: Address) -> bool:
        """Whether the host is allowed by its name."""
        host = address.host.rstrip(".").lower()
        return any(entry.fits_name(host) and entry.port in (None, address.port) for entry in self._allowed)

    def _holds(self, numeric: IPAddress, port: int) -> bool:
        return any(entry.network is not None and numeric in entry.network and entry.port in (None, port) for entry in self._allowed)

    def _some_network_has(self, port: int) -> bool:
        return any(entry.network is not None and entry.port in (None, port) for entry in self._allowed)


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
            f"{text!r} is not a host, address or network: write hooks.internal, *.corp.example, 10.1.0.0/16 or [fd00::/8]:8080"
        )
    return _Allowed(name=place.rstrip(".").lower(), port=port)


def _checked_host(host: str) -> str:
    if _parsed(host) is not None or (_NAME.fullmatch(host) and not _NUMERIC.fullmatch(host)):
        return host
    if _NUMERIC.fullmatch(host):
        raise AddressRefused(f"{host} is not an IPv4 address in the usual notation.", fix="Write it as four decimal numbers.")
    raise AddressRefused(f"{host!r} is not a host name.")


def _parsed(host: str) -> IPAddress | None:
    """The numeric address in a host; None for a name. Addresses with a zone are refused."""
    if "%" in host:
        raise AddressRefused(f"{host!r} is a link-local address.")
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _plain(numeric: IPAddress) -> IPAddress:
    """The IPv4 address inside an IPv4-mapped IPv6 address, to which the system connects; any other address unchanged."""
    mapped = numeric.ipv4_mapped if isinstance(numeric, ipaddress.IPv6Address) else None
    return mapped or numeric
