"""Cost estimates of projects, and the spend cap that their owners set."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.playing import is_lip_synced
from gateleg.apps.mv.providers import film_cost, lip_sync_cost, provider_of
from gateleg.apps.mv.rules import to_render
from gateleg.apps.mv.service import ProjectWithScenes
from gateleg.host import Refusal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from gateleg.apps.mv.tables import Project, Scene
    from gateleg.host import Resources

#: Assumed length of a track that has not been analysed yet, in seconds.
_USUAL = 180.0
#: Assumed length of a scene that is not planned yet, in seconds.
_USUAL_SCENE = 6.0


class SpendCapExceeded(Refusal):
    """The work would cost more than the project's spend cap."""

    code = "spend-cap"
    status = 409
    fix = "Raise the project's spendCap, lock some scenes, or set their provider to studio, which is free."


@dataclass(frozen=True, slots=True)
class Estimate:
    """The estimated cost of the scenes to render, in US dollars."""

    scenes: int
    seconds: float
    cost: float
    cap: float | None

    @property
    def allowed(self) -> bool:
        """Whether the cost is within the cap."""
        return self.cap is None or self.cost <= self.cap


def estimate(
    project: Project, scenes: Sequence[Scene], resources: Resources[Any], *, again: bool = False, only: Collection[int] = ()
) -> Estimate:
    """Estimate the cost of rendering the scenes without a clip and the selected ones (`only`), or with `again` all unlocked scenes,
    and of lip-syncing the scenes that need it.

    Scenes that are not planned yet are assumed to last six seconds each. The cap is checked again once they are planned.
    """
    if not scenes:
        seconds = project.audio_duration or _USUAL
        parts = math.ceil(seconds / _USUAL_SCENE)
        return Estimate(0, seconds, parts * film_cost(resources, project.provider, seconds / parts), project.spend_cap)
    wanted = to_render(scenes, again, only)
    films = sum(film_cost(resources, provider_of(project, scene), scene.duration) for scene in wanted)
    loaded, rendered = ProjectWithScenes(project, tuple(scenes)), {scene.sequence for scene in wanted}
    unsynced = [scene for scene in scenes if scene.needs_lip_sync and (scene.sequence in rendered or not is_lip_synced(loaded, scene))]
    cost = films + sum(lip_sync_cost(resources, scene.duration) for scene in unsynced)
    return Estimate(len(wanted), sum(scene.duration for scene in wanted), cost, project.spend_cap)


def check_spend_cap(project: Project, found: Estimate) -> None:
    """Raise `SpendCapExceeded` if an estimate exceeds the project's cap."""
    if not found.allowed:
        raise SpendCapExceeded(f"This would cost about {found.cost:.2f} US dollars, but the project's cap is {project.spend_cap or 0:.2f}.")
