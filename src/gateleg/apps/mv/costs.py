"""What a project will cost before it is begun, and the cap that its owner has set. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.mv.tables import SceneStatus
from gateleg.web import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateleg.apps.mv.tables import Project, Scene

#: US dollars for a second of video, by provider. The studio draws on this machine.
PRICES: Mapping[str, float] = {"studio": 0.0}
#: Seconds of a project whose track was not heard yet.
_USUAL = 180.0


class SpendCapExceeded(Refusal):
    """Work that would cost more than the project's cap."""

    code = "spend-cap"
    status = 409
    fix = "Raise spendCap of the project, lock scenes, or let the studio make them."


class ProviderUnknown(Refusal):
    """A provider that this host does not have."""

    code = "unknown-provider"
    status = 422
    fix = f"Set `provider` to one of: {', '.join(PRICES)}."


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the scenes that would be rendered cost, in US dollars."""

    scenes: int
    seconds: float
    cost: float
    cap: float | None

    @property
    def allowed(self) -> bool:
        """Whether the cap permits it."""
        return self.cap is None or self.cost <= self.cap


def price_of(provider: str) -> float:
    """US dollars for a second."""
    if provider not in PRICES:
        raise ProviderUnknown(f"There is no provider {provider!r} here.")
    return PRICES[provider]


def estimate(project: Project, scenes: Sequence[Scene], *, again: bool = False) -> Estimate:
    """What rendering would cost: of the scenes without a clip, or with `again` of all that are not locked."""
    if not scenes:
        seconds = project.audio_duration or _USUAL
        return Estimate(0, seconds, seconds * price_of(project.provider), project.spend_cap)
    wanted = [scene for scene in scenes if scene.status is not SceneStatus.COMPLETED or (again and not scene.locked)]
    cost = sum(scene.duration * price_of(scene.provider or project.provider) for scene in wanted)
    return Estimate(len(wanted), sum(scene.duration for scene in wanted), cost, project.spend_cap)


def check(project: Project, found: Estimate) -> None:
    """Refuse work that costs more than the project may."""
    if not found.allowed:
        raise SpendCapExceeded(f"This would cost about {found.cost:.2f} US dollars; the cap is {project.spend_cap or 0:.2f}.")
