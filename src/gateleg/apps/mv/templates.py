"""Use cases of templates: the options and scene texts of a project, with `{placeholders}`, for similar projects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv import service
from gateleg.apps.mv.scenes import SceneDraft, add_scenes
from gateleg.apps.mv.tables import Mode, Project, Template
from gateleg.host import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from gateleg.store import AsyncStore

_TEXTS = ("concept_prompt", "character_description", "product_description", "title")
_CHOICES = ("mode", "director_config", "provider", "seed", "aspect_ratio", "resolution", "fps", "spend_cap")
_PLACEHOLDER = re.compile(r"\{([A-Za-z][A-Za-z0-9_]{0,39})\}")


class MissingValues(Refusal):
    """Some placeholders of the template have no value."""

    status = 422
    fix = "Send `values` with a text for each placeholder that `details` names."


class UnreadablePlaceholder(Refusal):
    """A line is not of the form `name = text`."""

    status = 422
    fix = "Write one placeholder per line, such as city = Austin. Names start with a letter and contain letters, digits and underscores."


async def save_template(store: AsyncStore, project_id: UUID, owner: str, name: str, texts: Mapping[str, str]) -> Template:
    """Save a project as a template. `texts` maps placeholders to the words that they replace: {"city": "Austin"}."""
    loaded = await service.load_project(store, project_id)
    parted = {key: getattr(loaded.project, key) for key in _TEXTS}
    project: dict[str, Any] = {key: _parted(text, texts) for key, text in parted.items() if text}
    project |= {key: getattr(loaded.project, key) for key in _CHOICES if getattr(loaded.project, key) is not None}
    project["mode"] = loaded.project.mode.value
    scenes: list[dict[str, Any]] = [
        {
            "prompt": _parted(scene.prompt, texts),
            "duration": scene.duration,
            "negative_prompt": scene.negative_prompt,
            **_planned(scene.plan),
        }
        for scene in loaded.scenes
    ]
    return await store.create(Template(owner_id=owner, name=name, project=project, scenes=scenes))


def read_placeholders(lines: str) -> dict[str, str]:
    """Parse placeholders, one per line: `city = Austin`. Raises `UnreadablePlaceholder`."""
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, lines.splitlines())):
        name, equals, words = (part.strip() for part in line.partition("="))
        if not equals or not words or not _PLACEHOLDER.fullmatch(f"{{{name}}}"):
            raise UnreadablePlaceholder(f"{line!r} is not of the form name = text.")
        found[name] = words
    return found


def _planned(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {f"plan.{name}": value for name, value in plan.items()}


def _parted(text: str, texts: Mapping[str, str]) -> str:
    """A text with its parts replaced by placeholders, the longest first."""
    for name, part in sorted(texts.items(), key=lambda one: -len(one[1])):
        text = re.sub(re.escape(part), f"{{{name}}}", text, flags=re.IGNORECASE)
    return text


def placeholders(template: Template) -> list[str]:
    """The names of a template's placeholders."""
    texts = [str(template.project.get(key) or "") for key in _TEXTS] + [str(scene["prompt"]) for scene in template.scenes]
    return sorted({name for text in texts for name in _PLACEHOLDER.findall(text)})


async def use_template(store: AsyncStore, template: Template, owner: str, values: Mapping[str, str]) -> Project:
    """Create a project of an owner from a template, with values for its placeholders. Raises `MissingValues`."""
    missing = [name for name in placeholders(template) if not values.get(name, "").strip()]
    if missing:
        raise MissingValues(f"Values are missing for: {', '.join(missing)}.", details={"missing": missing})
    made: dict[str, Any] = {key: value for key, value in template.project.items() if key in (*_TEXTS, *_CHOICES)}
    made |= {key: _filled(str(made[key]), values) for key in _TEXTS if made.get(key)}
    made |= {"mode": Mode(made["mode"])} | {key: int(made[key]) for key in ("seed", "resolution", "fps") if key in made}
    project = await service.create_project(store, Project(owner_id=owner, **made))
    drafts = [_draft(scene, values) for scene in template.scenes]
    if drafts:
        await add_scenes(store, project.project_id, drafts)
    return await store.get(Project, project_id=project.project_id, consistent=True)


def _draft(scene: Mapping[str, Any], values: Mapping[str, str]) -> SceneDraft:
    plan = tuple((name.removeprefix("plan."), value) for name, value in scene.items() if name.startswith("plan."))
    return SceneDraft(_filled(str(scene["prompt"]), values), float(scene["duration"]), scene.get("negative_prompt"), plan=plan)


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)
