"""Access to projects, actions allowed in each status, and the order of scenes. Pure functions.

A project belongs to its creator. Members see and change their own projects; viewers see all, operators change all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from gateleg.apps.mv.tables import MAX_SCENES, Mode, ProjectStatus, SceneStatus, TrimPoints
from gateleg.host import Refusal, Role
from gateleg.host.errors import NotAllowed, Unknown
from gateleg.model.inspection import is_refused

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gateleg.apps.mv.tables import Project, Reference, Scene, Template
    from gateleg.host import Principal

#: The shortest part of a clip that a trim may leave, in seconds.
MIN_TRIM_SECONDS = 0.1
#: Statuses in which a job of the whole project works on it. See `is_busy`.
BUSY = frozenset({ProjectStatus.QUEUED, ProjectStatus.GENERATING_SCENES, ProjectStatus.PROCESSING, ProjectStatus.COMPOSING})
#: Those of them that a project also has without such a job, once a single scene is rendered or uploaded: `service.begin_scenes`.
_SCENE_BY_SCENE = frozenset({ProjectStatus.QUEUED, ProjectStatus.PROCESSING})


class WrongProjectState(Refusal):
    """The project or scene is in a status that does not allow this."""

    code = "wrong-state"
    status = 409


class BadProject(Refusal):
    """The project lacks a text that its mode requires."""

    status = 422


class TrackMissing(Refusal):
    """The project has no song, and none was asked for."""

    status = 409
    fix = (
        "Upload one with PUT /api/mv/projects/{id}/audio, or use a synthesised one with POST /api/mv/projects/{id}/generate?demoSong=true."
    )


class BadOrder(Refusal):
    """The order does not list each scene exactly once."""

    status = 422
    fix = "List each scene of the project exactly once, by its sequence number."


class BadTrim(Refusal):
    """The trim leaves nothing to play."""

    status = 422
    fix = "Choose points inside the clip, `in` before `out`."


class TooManyScenes(Refusal):
    """No sequence number is left for another scene."""

    status = 409
    fix = f"A project can have {MAX_SCENES} scenes, including deleted ones. Duplicate the project: numbering starts again in the copy."


def tenant_of(owner: str) -> str | None:
    """The tenant of an owner; None for owners without a tenant."""
    return unquote(owner.partition("/")[0]) or None


def may_see(principal: Principal, owner: str) -> bool:
    """Whether the caller may see an owner's items."""
    return principal.may(Role.VIEWER) or owner == principal.owner


def may_change(principal: Principal, owner: str) -> bool:
    """Whether the caller may change an owner's items."""
    return principal.may(Role.OPERATOR) or owner == principal.owner


def check_visible(principal: Principal, found: Project | Reference | Template | None, what: str) -> None:
    """Raise `Unknown` if the item does not exist or the caller may not see it. The error is the same in both cases."""
    if found is None or not may_see(principal, found.owner_id):
        raise Unknown(f"There is no {what}.", fix="GET /api/mv/projects lists your projects.")


def check_changeable(principal: Principal, found: Project | Reference | Template) -> None:
    """Raise `NotAllowed` if the caller may only view the item."""
    if not may_change(principal, found.owner_id):
        raise NotAllowed(f"{principal.name!r} may view this, but not change it.", fix="Ask its owner or an operator.")


def check_complete(project: Project) -> None:
    """Raise `BadProject` if a text is missing that the project's mode requires."""
    if project.mode is Mode.MUSIC_VIDEO and not project.character_description:
        raise BadProject("A music video needs a characterDescription.", fix="Describe the main character in a sentence.")
    if project.mode is Mode.AD_CREATIVE and not project.product_description:
        raise BadProject("An ad needs a productDescription.", fix="Describe the product in a sentence.")


def is_busy(project: Project) -> bool:
    """Whether a job of the whole project works on it. The renders of single scenes do not count: other work may start beside them."""
    return project.status in BUSY and not (project.status in _SCENE_BY_SCENE and project.root_job_id is None)


def check_startable(project: Project) -> None:
    """Raise `WrongProjectState` if a job of the whole project works on it."""
    if is_busy(project):
        raise WrongProjectState(
            f"The project is busy: its status is {project.status.value}.",
            fix="Wait until its job has ended, or cancel the job.",
            details={"status": project.status},
        )


def check_track(project: Project) -> None:
    """Raise `TrackMissing` if the project has no track, to which its scenes are cut and drawn."""
    if project.audio_backing_track_s3_key is None or is_refused(project.audio_backing_track_s3_key):
        raise TrackMissing("The project has no song.")


def check_selection(scenes: Sequence[Scene], only: Collection[int]) -> None:
    """Raise `Unknown` if a selected scene does not exist, and `WrongProjectState` if one is locked."""
    unknown = sorted(set(only) - {scene.sequence for scene in scenes})
    if unknown:
        raise Unknown(f"The project has no scene {', '.join(map(str, unknown))}.", fix="Use the sequence numbers of the project's scenes.")
    locked = [scene.sequence for scene in scenes if scene.locked and scene.sequence in only]
    if locked:
        words = f"Scene {locked[0]} is" if len(locked) == 1 else f"Scenes {', '.join(map(str, locked))} are"
        fix = "Unlock these scenes, or leave them out of the selection."
        raise WrongProjectState(f"{words} locked.", fix=fix, details={"locked": locked})


def to_render(scenes: Iterable[Scene], again: bool, only: Collection[int] = ()) -> list[Scene]:
    """The scenes to render: scenes without a clip and the selected ones, or with `again` all unlocked scenes."""
    return [
        scene
        for scene in scenes
        if scene.status is not SceneStatus.COMPLETED or scene.sequence in only or (again and not only and not scene.locked)
    ]


def check_composable(project: Project, scenes: Sequence[Scene]) -> None:
    """Raise `WrongProjectState` unless every scene has a clip and no job is composing the project."""
    missing = [scene.sequence for scene in scenes if scene.status is not SceneStatus.COMPLETED]
    if not scenes or missing:
        raise WrongProjectState(
            "Not every scene has a clip." if scenes else "The project has no scenes.",
            fix="Render the scenes without a clip, or delete them." if scenes else "Generate or add scenes first.",
            details={"missing": missing},
        )
    if project.status is ProjectStatus.COMPOSING:
        raise WrongProjectState("The project is being composed.", fix="Wait until its job has ended, or cancel the job.")


def check_deletable(project: Project) -> None:
    """Raise `WrongProjectState` if the project is being composed, or has only one scene."""
    if project.status is ProjectStatus.COMPOSING:
        raise WrongProjectState("The project is being composed.", fix="Wait until its job has ended, or cancel the job.")
    if len(project.scene_order) <= 1:
        fix = "Delete the project instead, or add another scene first."
        raise WrongProjectState("The last scene of a project cannot be deleted.", fix=fix)


def check_room(project: Project, count: int, most: int) -> None:
    """Raise `TooManyScenes` if more scenes would exceed the limit of the host."""
    if len(project.scene_order) + count > most:
        fix = "Delete some scenes, or ask the administrator of this host to raise most_scenes below [mv] in gateleg.toml."
        raise TooManyScenes(f"The project has {len(project.scene_order)} scenes; the limit is {most}.", fix=fix)


def next_sequences(project: Project, count: int) -> list[int]:
    """The sequence numbers of `count` new scenes. Numbers are never reused. Raises `TooManyScenes`."""
    if project.last_sequence + count > MAX_SCENES:
        raise TooManyScenes(f"{project.last_sequence} of {MAX_SCENES} sequence numbers are used; there is no room for {count} more.")
    return [project.last_sequence + number for number in range(1, count + 1)]


def insert_scenes(order: Sequence[int], sequences: Iterable[int], position: int | None) -> list[int]:
    """The order with scenes inserted at a position (counted from 1), or at the end. Raises `BadOrder`."""
    at = len(order) if position is None else position - 1
    if not 0 <= at <= len(order):
        raise BadOrder(f"There is no position {position} among {len(order)} scenes.", fix=f"Positions are 1 to {len(order) + 1}.")
    return [*order[:at], *sequences, *order[at:]]


def check_order(order: Sequence[int], wanted: Sequence[int]) -> list[int]:
    """The new order. Raises `BadOrder` unless it lists each scene exactly once."""
    missing, extra = sorted(set(order) - set(wanted)), sorted(set(wanted) - set(order))
    if missing or extra or len(wanted) != len(order):
        raise BadOrder("The order does not list each scene once.", details={"missing": missing, "extra": extra, "existing": list(order)})
    return list(wanted)


def check_trim(points: TrimPoints, length: float) -> TrimPoints:
    """The trim, limited to the clip's length. Raises `BadTrim` if too little is left."""
    end = min(points.end, length)
    if end - points.start < MIN_TRIM_SECONDS:
        raise BadTrim(f"The clip lasts {length:g} s; a trim to {points.start:g}-{points.end:g} s leaves less than {MIN_TRIM_SECONDS:g} s.")
    return TrimPoints(start=points.start, end=end)
