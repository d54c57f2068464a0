"""Who may see and change a project, what may be done in which state, and how scenes are ordered. Pure.

A project belongs to whoever created it. Members see and change their own; viewers see all, operators change all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from gateleg.apps.mv.tables import MAX_SCENES, Mode, ProjectStatus, SceneStatus, TrimPoints
from gateleg.web import Refusal, Role
from gateleg.web.errors import NotAllowed, Unknown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gateleg.apps.mv.tables import Project, Reference, Scene, Template
    from gateleg.web import Principal

#: Seconds of a clip that a trim must leave.
MIN_TRIM_SECONDS = 0.1
#: States in which something works on a project.
BUSY = frozenset({ProjectStatus.QUEUED, ProjectStatus.GENERATING_SCENES, ProjectStatus.PROCESSING, ProjectStatus.COMPOSING})


class WrongState(Refusal):
    """Something that cannot be done with a project or a scene in its present state."""

    code = "wrong-state"
    status = 409


class BadProject(Refusal):
    """A project that lacks what its mode needs."""

    code = "bad-project"
    status = 422


class BadOrder(Refusal):
    """An order that does not name each scene once."""

    code = "bad-order"
    status = 422
    fix = "Name each scene of the project once, by its sequence."


class BadTrim(Refusal):
    """A trim that leaves nothing to play."""

    code = "bad-trim"
    status = 422
    fix = "Choose points inside the clip, `in` before `out`."


class TooManyScenes(Refusal):
    """No sequence is left for another scene."""

    code = "too-many-scenes"
    status = 409
    fix = f"A project has room for {MAX_SCENES} scenes, deleted ones included. Duplicate it: the copy counts anew."


def tenant_of(owner: str) -> str | None:
    """The tenant of an owner; None for owners outside of all tenants."""
    return unquote(owner.partition("/")[0]) or None


def may_see(principal: Principal, owner: str) -> bool:
    """Whether somebody may see what belongs to an owner."""
    return principal.may(Role.VIEWER) or owner == principal.owner


def may_change(principal: Principal, owner: str) -> bool:
    """Whether somebody may change what belongs to an owner."""
    return principal.may(Role.OPERATOR) or owner == principal.owner


def check_visible(principal: Principal, found: Project | Reference | Template | None, what: str) -> None:
    """Refuse what is not there and what the caller may not see alike."""
    if found is None or not may_see(principal, found.owner_id):
        raise Unknown(f"There is no {what}.", fix="GET /api/mv/projects lists yours.")


def check_changeable(principal: Principal, found: Project | Reference | Template) -> None:
    """Refuse a change of what the caller may only look at."""
    if not may_change(principal, found.owner_id):
        raise NotAllowed(f"{principal.name!r} may look at this, and not change it.", fix="Ask its owner or an operator.")


def check_complete(project: Project) -> None:
    """Refuse a project without the texts that its mode needs."""
    if project.mode is Mode.MUSIC_VIDEO and not project.character_description:
        raise BadProject("A music video needs a characterDescription.", fix="Say who or what is seen in it, in a sentence.")
    if project.mode is Mode.AD_CREATIVE and not project.product_description:
        raise BadProject("An ad needs a productDescription.", fix="Say what it is for, in a sentence.")


def check_startable(project: Project) -> None:
    """Refuse to begin a project that something works on."""
    if project.status in BUSY:
        raise WrongState(
            f"The project is {project.status.value}.", fix="Wait until it has ended, or cancel its job.", details={"status": project.status}
        )


def check_selection(scenes: Sequence[Scene], only: Collection[int]) -> None:
    """Refuse a selection that names scenes which are not there, or which keep their clips."""
    unknown = sorted(set(only) - {scene.sequence for scene in scenes})
    if unknown:
        raise Unknown(f"The project has no scene {', '.join(map(str, unknown))}.", fix="Name scenes by their sequence.")
    locked = [scene.sequence for scene in scenes if scene.locked and scene.sequence in only]
    if locked:
        words = f"Scene {locked[0]} is" if len(locked) == 1 else f"Scenes {', '.join(map(str, locked))} are"
        raise WrongState(f"{words} locked.", fix="Unlock what is to be rendered again, or leave it out.", details={"locked": locked})


def to_render(scenes: Iterable[Scene], again: bool, only: Collection[int] = ()) -> list[Scene]:
    """The scenes that get a new clip: those without one, those of a selection, and with `again` all that are not locked."""
    return [
        scene
        for scene in scenes
        if scene.status is not SceneStatus.COMPLETED or scene.sequence in only or (again and not only and not scene.locked)
    ]


def check_composable(project: Project, scenes: Sequence[Scene]) -> None:
    """Refuse to compose what has no clips yet."""
    missing = [scene.sequence for scene in scenes if scene.status is not SceneStatus.COMPLETED]
    if not scenes or missing:
        raise WrongState(
            "Not every scene has a clip." if scenes else "The project has no scenes.",
            fix="Render the scenes that are missing, or delete them." if scenes else "Generate or add scenes first.",
            details={"missing": missing},
        )
    if project.status is ProjectStatus.COMPOSING:
        raise WrongState("The project is being composed.", fix="Wait until it has ended, or cancel its job.")


def check_deletable(project: Project) -> None:
    """Refuse to take a scene out of a film that is being composed, or the last one out of a project."""
    if project.status is ProjectStatus.COMPOSING:
        raise WrongState("The project is being composed.", fix="Wait until it has ended, or cancel its job.")
    if len(project.scene_order) <= 1:
        raise WrongState("A project keeps at least one scene.", fix="Delete the project instead, or add another scene first.")


def check_room(project: Project, count: int, most: int) -> None:
    """Refuse more scenes than the host permits in a project."""
    if len(project.scene_order) + count > most:
        fix = "Delete some, or have whoever runs the host raise most_scenes of [mv]."
        raise TooManyScenes(f"The project has {len(project.scene_order)} scenes; at most {most} are permitted.", fix=fix)


def next_sequences(project: Project, count: int) -> list[int]:
    """The sequences of so many new scenes. None was ever used in the project."""
    if project.last_sequence + count > MAX_SCENES:
        raise TooManyScenes(f"The project has given out {project.last_sequence} of {MAX_SCENES} sequences; {count} more do not fit.")
    return [project.last_sequence + number for number in range(1, count + 1)]


def insert_scenes(order: Sequence[int], sequences: Iterable[int], position: int | None) -> list[int]:
    """The order with scenes put in: before the one at a position (1-based), or behind all."""
    at = len(order) if position is None else position - 1
    if not 0 <= at <= len(order):
        raise BadOrder(f"There is no position {position} among {len(order)} scenes.", fix=f"Positions are 1 to {len(order) + 1}.")
    return [*order[:at], *sequences, *order[at:]]


def check_order(order: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The wanted order, if it names each scene once."""
    missing, extra = sorted(set(order) - set(wanted)), sorted(set(wanted) - set(order))
    if missing or extra or len(wanted) != len(order):
        raise BadOrder("This order does not name each scene once.", details={"missing": missing, "extra": extra, "existing": list(order)})
    return list(wanted)


def check_trim(points: TrimPoints, length: float) -> TrimPoints:
    """The part of a clip that plays, inside its length."""
    end = min(points.end, length)
    if end - points.start < MIN_TRIM_SECONDS:
        raise BadTrim(f"The clip lasts {length:g} s: {points.start:g} to {points.end:g} s leaves less than {MIN_TRIM_SECONDS:g} s of it.")
    return TrimPoints(start=points.start, end=end)
