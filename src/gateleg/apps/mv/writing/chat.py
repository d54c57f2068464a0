"""Scene texts by a chat model, if one is configured. The studio still decides the plan, shots and camera moves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from gateleg.ai import AiError, System, User
from gateleg.apps.mv.writing.scenes import write_scenes

if TYPE_CHECKING:
    from gateleg.ai import Chat
    from gateleg.apps.mv.planning.plan import Plan
    from gateleg.apps.mv.planning.presets import Preset
    from gateleg.apps.mv.writing.scenes import SceneText


class WrittenScene(BaseModel):
    """One scene in the response of a model."""

    description: str = Field(min_length=10, max_length=2_000)


class WrittenScenes(BaseModel):
    """The response of a model: all scenes of a video."""

    scenes: list[WrittenScene]


_TASK = (
    "You write the scenes of a music video. Write exactly {count} scenes, one after another, in the third person and the present tense, "
    "two or three sentences each. Every scene can be understood on its own: repeat who is seen and where. Keep the same character and "
    "the same world throughout. Say what is seen, never what is heard. No dialogue, no on-screen text."
)


def write_scenes_by(
    chat: Chat, concept: str, plan: Plan, preset: Preset, subject: str | None = None, seed: int = 0
) -> tuple[tuple[SceneText, ...], str]:
    """Write the scene texts with a model. Returns the texts and a note, which is empty if the model wrote all of them.

    If the model fails, refuses or returns another number of scenes, `write_scenes` writes them instead, and the note says why.
    """
    plain = write_scenes(concept, plan, preset, subject, seed)
    lines = [
        f"{slot.index + 1}. {slot.role}, {slot.part}, {slot.frames / plan.fps:.1f} s, energy {slot.energy:.1f}, "
        f"{text.shot} shot, camera: {text.move}"
        for slot, text in zip(plan.slots, plain, strict=True)
    ]
    about = f"Concept: {concept}\nCharacter: {subject or 'none'}\nMood: {preset.mood}\nScenes:\n" + "\n".join(lines)
    try:
        written = chat.structured(WrittenScenes, [System(_TASK.format(count=len(plain))), User(about)], seed=seed).value.scenes
    except AiError as error:
        return plain, f"The model could not write the scenes ({error.code}), so the studio wrote them."
    if len(written) != len(plain):
        return plain, f"The model wrote {len(written)} scenes instead of {len(plain)}, so the studio wrote them."
    texts = [replace(text, prompt=f"{_camera(text)} {scene.description}") for text, scene in zip(plain, written, strict=True)]
    return tuple(texts), ""


def _camera(text: SceneText) -> str:
    return text.prompt.split(". ", 1)[0] + "."
