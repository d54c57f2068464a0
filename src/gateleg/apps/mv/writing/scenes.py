"""Write scene texts from a concept without a model: story arc, shot sizes, camera moves and light, deterministic for a seed."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateleg.apps.mv.planning.presets import MOVES, SHOTS, Move, Preset, Shot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.mv.planning.plan import Plan, Role, Slot


@dataclass(frozen=True, slots=True)
class SceneText:
    """The text of a scene."""

    #: the whole prompt, which people edit and video models receive
    prompt: str
    negative: str
    shot: Shot
    move: Move
    #: whether the character or product is named
    names_subject: bool


_SHOT_WORDS: dict[Shot, str] = {
    "wide": "Wide shot",
    "medium": "Medium shot",
    "close": "Close-up",
    "detail": "Detail shot",
    "low": "Low angle",
    "overhead": "Overhead shot",
}
_MOVE_WORDS: dict[Move, str] = {
    "push": "the camera pushes in",
    "pull": "the camera pulls back",
    "pan left": "the camera pans left",
    "pan right": "the camera pans right",
    "rise": "the camera rises",
    "fall": "the camera sinks",
    "drift": "the camera drifts",
    "orbit": "the camera circles",
    "still": "the camera is still",
}
#: Events by the role of the scene in the story; {it} is the subject.
_EVENTS: dict[Role, tuple[str, ...]] = {
    "establish": ("The place lies open, before anybody is there", "First light on the scene, all of it seen from afar"),
    "introduce": ("{it} enters and looks around", "{it} is there, seen for the first time"),
    "develop": (
        "{it} goes on, and the place changes with every step",
        "Something small catches the eye of {it}",
        "{it} passes by while the world behind keeps moving",
        "{it} waits, and the air begins to move",
    ),
    "lift": ("Everything opens up around {it}", "{it} lets go, and all colours wake", "The whole place moves with {it}"),
    "break": ("All falls quiet around {it}", "{it} alone, nothing else moves"),
    "climax": ("{it} at the heart of it, brighter than before", "The same place again, larger, with {it} in the middle of it all"),
    "close": ("{it} leaves, and the place is what it was", "A last look back; the light goes"),
}
#: How every scene names the product.
_SHOWN = "Clearly in view: {it}"
_LIGHT: dict[Role, tuple[str, ...]] = {
    "establish": ("quiet light", "long shadows"),
    "introduce": ("soft light from one side", "clear light"),
    "develop": ("light that shifts", "light between shapes"),
    "lift": ("bright light from behind", "light that pulses"),
    "break": ("dim light", "almost dark"),
    "climax": ("blazing light", "light from everywhere"),
    "close": ("fading light", "last light"),
}


def write_scenes(
    concept: str, plan: Plan, preset: Preset, subject: str | None = None, seed: int = 0, product: str | None = None
) -> tuple[SceneText, ...]:
    """Write a text for each scene of a plan. `subject` describes the main character: every scene that shows it names it.

    `product` describes a product, which every scene shows and names. A scene that varies an earlier one (a repeated chorus) keeps the
    event and shot of that scene, and is brighter and closer.
    """
    texts: list[SceneText] = []
    for slot in plan.slots:
        twin = texts[slot.twin] if slot.twin != slot.index else None
        texts.append(_write(concept, slot, preset, subject, seed, twin, product))
    return tuple(texts)


def _pick(options: Sequence[str], *of: object) -> str:
    digest = hashlib.sha256("|".join(map(str, of)).encode()).digest()
    return options[int.from_bytes(digest[:4], "big") % len(options)]


def _write(
    concept: str, slot: Slot, preset: Preset, subject: str | None, seed: int, twin: SceneText | None, product: str | None
) -> SceneText:
    shot: Shot = twin.shot if twin else preset.shots[slot.index % len(preset.shots)] if slot.role != "establish" else "wide"
    move: Move = preset.moves[(slot.index + seed) % len(preset.moves)]
    if twin and slot.role == "climax":
        move = "push" if "push" in preset.moves else move
    who = _sentence(subject or product or "") or _who(concept)
    event = _pick(_EVENTS[slot.role], seed, concept, slot.twin, slot.role)
    named = "{it}" in event or slot.role not in ("establish", "close")
    light = _pick(_LIGHT[slot.role], seed, concept, slot.index)
    parts = [f"{_SHOT_WORDS[shot]}, {_MOVE_WORDS[move]}.", f"{_sentence(concept)}."]
    parts.append(f"{_sentence(event.replace('{it}', who[0].lower() + who[1:] if not event.startswith('{it}') else who))}.")
    if product:
        parts.append(f"{_SHOWN.format(it=_sentence(product))}.")
    parts.append(f"{light.capitalize()}; {preset.mood}.")
    return SceneText(" ".join(parts), preset.negative, shot, move, named and subject is not None)


def _sentence(text: str) -> str:
    plain = " ".join(text.split()).rstrip(".!?;,")
    return plain[:1].upper() + plain[1:]


def _who(concept: str) -> str:
    """The subject of a concept: the words before its first verb or preposition."""
    words = concept.split()
    for at, word in enumerate(words[:7]):
        plain = word.lower().strip(",.;:!?")
        if at and (plain in _STOPS or (plain.endswith("ing") and len(plain) > 5)):
            return " ".join(words[:at]).strip(",.;:!?") or "somebody"
    return "it all" if len(words) > 6 else concept.strip(".!? ") or "it all"


_WORDS = (
    "in on at through under over into across along by with walks runs dances sings flies drives falls is are was were and until between "
    "from of near behind beneath above around against without beyond to for"
)
_STOPS = frozenset(_WORDS.split())
_CAMERA = re.compile(
    "|".join(
        [*(rf"{words}\b" for words in _SHOT_WORDS.values()), *(rf"{words}\b" for words in _MOVE_WORDS.values()), r"the camera [a-z ]+"]
    ),
    re.IGNORECASE,
)


def read_camera(text: str) -> tuple[Shot | None, Move | None, str]:
    """The shot size and the camera move that a text names, if any, and the text without them."""
    lower = text.lower().replace("closeup", "close-up").replace("close up", "close-up").replace("bird's eye", "overhead shot")
    shot = next((shot for shot in SHOTS if _SHOT_WORDS[shot].lower() in lower), None)
    move = next((move for move in MOVES if _MOVE_WORDS[move] in lower), None)
    if move is None:
        move = next(
            (move for move in MOVES if re.search(rf"\b{move.split()[0]}(s|es|ning|ing)? (in|back|left|right|up|down|around)\b", lower)),
            None,
        )
    rest = re.sub(r"^[\s,.;]+", "", _CAMERA.sub("", text))
    return shot, move, " ".join(rest.split())


def _pattern(phrase: str) -> str:
    return re.escape(phrase).replace(re.escape("{it}"), ".+")


#: Phrases that the studio adds, which name nothing to draw.
_SAID_BY_STUDIO = (_SHOWN, *(phrase for table in (_EVENTS, _LIGHT) for phrases in table.values() for phrase in phrases))
_PHRASES = re.compile("|".join(map(_pattern, _SAID_BY_STUDIO)), re.IGNORECASE)


def scene_words(text: str) -> str:
    """The part of a scene's text that names things to draw, without the camera and the studio's own phrases."""
    sentences = re.split(r"[.;]\s*", read_camera(text)[2])
    return ". ".join(sentence for sentence in sentences if sentence and not _PHRASES.fullmatch(sentence))
