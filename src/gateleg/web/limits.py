"""Rate limits: token buckets in memory, for each host process."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gateleg.host.errors import TooOften

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.host.principal import Principal
    from gateleg.host.settings import Settings

#: Seconds in which the allowance of a key and of an address refills.
_KEY_SECONDS = 60.0
_SIGNIN_SECONDS = 300.0
#: How many callers are tracked; the least recently active one is dropped first.
_MAX_TRACKED_CALLERS = 10_000


@dataclass
class Buckets:
    """A token bucket of `size` for each name, refilled in `seconds`."""

    size: float
    seconds: float
    ticks: Callable[[], float]
    _levels: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def wait(self, name: str) -> float:
        """Seconds until a token is available; 0 if one is."""
        level = self._level(name)
        return 0.0 if level >= 1 else (1 - level) * self.seconds / self.size

    def take(self, name: str) -> None:
        """Take a token."""
        level = self._level(name)
        self._levels[name] = (level - 1, self.ticks())
        self._levels.move_to_end(name)
        if len(self._levels) > _MAX_TRACKED_CALLERS:
            self._levels.popitem(last=False)

    def forgive(self, name: str) -> None:
        """Refill the bucket."""
        self._levels.pop(name, None)

    def _level(self, name: str) -> float:
        level, at = self._levels.get(name, (self.size, 0.0))
        return min(self.size, level + (self.ticks() - at) * self.size / self.seconds)


class HostLimits:
    """The limits of a host: requests per key, failed sign-ins per address."""

    def __init__(self, settings: Settings, ticks: Callable[[], float]) -> None:
        self._keys = Buckets(settings.key_rate, _KEY_SECONDS, ticks) if settings.key_rate else None
        self._attempts = Buckets(settings.signin_attempts, _SIGNIN_SECONDS, ticks)

    def take_key(self, principal: Principal) -> None:
        """Count a request of a key. Raises `TooOften` over the limit."""
        if self._keys is None or principal.key_id is None:
            return
        wait = self._keys.wait(principal.key_id)
        if wait > 0:
            raise TooOften(f"The key {principal.name!r} has reached its limit of requests per minute.", seconds=wait)
        self._keys.take(principal.key_id)

    def failed_attempt(self, address: str) -> None:
        """Count a failed sign-in. Raises `TooOften` if the address has failed too often."""
        wait = self._attempts.wait(address)
        if wait > 0:
            raise TooOften("Too many failed attempts to sign in.", seconds=wait)
        self._attempts.take(address)

    def signed_in(self, address: str) -> None:
        """Clear the failed sign-ins of an address."""
        self._attempts.forgive(address)
