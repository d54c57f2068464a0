"""Writing the text of one scene anew, as the studio writes it: another event, light and camera for the same place in the film."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gateleg.apps.mv.planning.presets import find_preset
from gateleg.apps.mv.productions import plan_of
from gateleg.apps.mv.writing.scenes import write_scenes

if TYPE_CHECKING:
    from gateleg.apps.mv.service import ProjectWithScenes
    from gateleg.apps.mv.writing.scenes import SceneText

#: Seeds that are tried for a text that differs.
_TRIED = 24


def rewrite_scene(loaded: ProjectWithScenes, sequence: int) -> SceneText:
    """Another text for a scene. The same scene in the same version gets the same one."""
    project, scene = loaded.project, next(one for one in loaded.scenes if one.sequence == sequence)
    preset, whole = find_preset(project.director_config), plan_of(loaded.scenes, project.fps)
    # Each by itself: scenes may have been moved or deleted since one was written to develop another.
    plan = replace(whole, slots=tuple(replace(slot, twin=slot.index) for slot in whole.slots))
    subject = project.character_description or project.product_description
    at = loaded.position(sequence) - 1
    found = None
    for turn in range(1, _TRIED):
        found = write_scenes(project.concept_prompt, plan, preset, subject, project.seed + scene.version + turn)[at]
        if found.prompt != scene.prompt:
            break
    assert found is not None
    return found
