"""What all models of a `Models` share."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gateleg.ai.metering import Meter
from gateleg.ai.settings import ModelSettings
from gateleg.ai.trying import RETRIES, Trying, timeouts_of

if TYPE_CHECKING:
    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.replies import Usage
    from gateleg.net import Retries


@dataclass
class Setup:
    """Settings, patience and the meter."""

    settings: ModelSettings = field(default_factory=ModelSettings)
    trying: Trying = field(default_factory=Trying)
    meter: Meter = field(default_factory=Meter)
    #: how long answers are kept in the cache; None for ever
    cache_days: float | None = 90

    def charge(self, address: ModelAddress, usage: Usage) -> Usage:
        """The usage with its cost, noted in the meter."""
        price = self.settings.price_of(address)
        priced = replace(usage, cost=None if price is None else price.of(usage))
        self.meter.add(str(address), priced)
        return priced


def setup_from(settings: ModelSettings | None, retries: Retries | None, meter: Meter | None, cache_days: float | None) -> Setup:
    """The setup that the arguments of a `Models` describe."""
    settings = settings or ModelSettings()
    timeouts = timeouts_of(settings.connect_seconds, settings.silence_seconds)
    retries = retries or replace(RETRIES, attempts=settings.attempts)
    return Setup(settings, Trying(timeouts, settings.total_seconds, retries), meter or Meter(), cache_days)
