"""Rewrite the prompt of one scene: another event, light and camera for the same position in the film."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.productions import plan_of
from gateleg.apps.mv.subjects import subjects_of
from gateleg.apps.mv.writing.scenes import write_scenes

if TYPE_CHECKING:
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.writing.scenes import SceneText

#: How many seeds are tried to get a different text.
_TRIED = 24


def rewrite_scene(loaded: ProjectWithScenes, sequence: int) -> SceneText:
    """Write another prompt for a scene. The same version of a scene always gets the same prompt."""
    project, scene = loaded.project, next(one for one in loaded.scenes if one.sequence == sequence)
    preset, whole = find_preset(project.director_config), plan_of(loaded.scenes, project.fps)
    # Scenes may have been moved or deleted since, so write this one independently of the others.
    plan = replace(whole, slots=tuple(replace(slot, twin=slot.index) for slot in whole.slots))
    shown = subjects_of(project)
    at = loaded.position(sequence) - 1
    found = None
    for turn in range(1, _TRIED):
        seed = project.seed + scene.version + turn
        found = write_scenes(project.concept_prompt, plan, preset, shown.character, seed, shown.product)[at]
        if found.prompt != scene.prompt:
            break
    assert found is not None
    return found
