"""Director presets: the cutting, camera, light, grading and lettering of a video. Every field affects the frames or the plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateleg.apps.mv.errors import UnknownPreset

Shot = Literal["wide", "medium", "close", "detail", "low", "overhead"]
Move = Literal["push", "pull", "pan left", "pan right", "rise", "fall", "drift", "orbit", "still"]
Transition = Literal["cut", "dissolve", "push", "zoom", "iris", "light", "ink", "blinds"]
Typeface = Literal["grotesque", "serif", "handwritten", "rounded"]

SHOTS: tuple[Shot, ...] = ("wide", "medium", "close", "detail", "low", "overhead")
MOVES: tuple[Move, ...] = ("push", "pull", "pan left", "pan right", "rise", "fall", "drift", "orbit", "still")


@dataclass(frozen=True, slots=True)
class Grade:
    """The colour grade of finished frames."""

    contrast: float = 1.0
    saturation: float = 1.0
    #: colour temperature: positive is warmer, negative cooler; about -0.3 to 0.3
    warmth: float = 0.0
    #: how far black is raised, 0 to 0.15
    fade: float = 0.0
    #: how strongly bright areas glow, 0 to 1
    glow: float = 0.35
    grain: float = 0.035
    vignette: float = 0.35
    #: split toning: the colours of shadows and highlights, and its strength
    shadows: tuple[float, float, float] = (0.5, 0.5, 0.5)
    lights: tuple[float, float, float] = (0.5, 0.5, 0.5)
    toning: float = 0.0
    #: posterisation: the number of brightness steps; 0 is none
    poster: int = 0


@dataclass(frozen=True, slots=True)
class Preset:
    """A director preset."""

    name: str
    title: str
    #: one sentence that describes it in lists
    description: str
    #: relative length of scenes: values below 1 cut more often
    pace: float
    #: how far the camera moves; 0 is a tripod
    motion: float
    #: how much the camera shakes with the drums
    handheld: float
    #: framing of the subject: 1 is centred, 0 is on thirds
    symmetry: float
    shots: tuple[Shot, ...]
    moves: tuple[Move, ...]
    #: transitions at calm and at strong section changes
    calm: Transition
    strong: Transition
    typeface: Typeface
    grade: Grade
    #: height of each letterbox bar, as a share of the frame
    letterbox: float
    #: words for light and mood, which influence the choice of elements and colours
    mood: str
    #: the negative prompt for models
    negative: str


_NO = "text, watermark, logo, extra limbs, blur"

_ALL = (
    Preset(
        "clean", "Clean", "Neutral colours, calm camera, cuts on the bar.", 1.0, 1.0, 0.0, 0.4,
        ("wide", "medium", "close", "wide", "low", "detail"), ("push", "pan right", "drift", "pull", "pan left", "rise"),
        "dissolve", "cut", "grotesque", Grade(contrast=1.05), 0.0, "clear natural light", _NO,
    ),
    Preset(
        "pastel-symmetry", "Pastel symmetry", "One-point framing, flat pastel colours, straight camera moves.", 1.15, 0.7, 0.0, 1.0,
        ("wide", "medium", "wide", "overhead", "close"), ("push", "pan right", "still", "pull", "pan left"),
        "cut", "push", "serif", Grade(0.92, 0.95, 0.12, 0.07, 0.2, 0.02, 0.12, (0.55, 0.45, 0.5), (0.62, 0.52, 0.4), 0.35), 0.0,
        "whimsical pastel storybook", _NO + ", dutch angle, handheld",
    ),
    Preset(
        "velvet-dream", "Velvet dream", "Slow, dark and red; fog, long dissolves and something that hums.", 1.4, 0.6, 0.1, 0.7,
        ("close", "wide", "detail", "medium", "low"), ("push", "drift", "still", "push"),
        "dissolve", "ink", "serif", Grade(1.25, 0.9, 0.05, 0.0, 0.75, 0.06, 0.75, (0.35, 0.42, 0.55), (0.68, 0.42, 0.38), 0.45), 0.06,
        "surreal dream, darkness, red curtains, unease", _NO + ", daylight, cheerful",
    ),
    Preset(
        "grindhouse", "Grindhouse", "Hot yellows, hard contrast, scratched stock and fast cuts.", 0.7, 1.3, 0.6, 0.3,
        ("low", "close", "wide", "detail", "medium"), ("push", "pan left", "pull", "pan right"),
        "cut", "zoom", "grotesque", Grade(1.4, 1.25, 0.25, 0.03, 0.3, 0.11, 0.5, (0.45, 0.5, 0.42), (0.66, 0.55, 0.32), 0.4), 0.1,
        "dusty, violent, retro exploitation film", _NO + ", pastel",
    ),
    Preset(
        "gothic-tale", "Gothic tale", "Moonlit blues and blacks, twisted shapes, slow rises.", 1.1, 0.9, 0.0, 0.6,
        ("wide", "low", "close", "medium", "detail"), ("rise", "push", "orbit", "drift"),
        "iris", "ink", "handwritten", Grade(1.3, 0.55, -0.2, 0.0, 0.5, 0.05, 0.7, (0.38, 0.42, 0.62), (0.55, 0.56, 0.62), 0.4), 0.0,
        "gothic fairy tale, moonlight, bare trees, fog", _NO + ", bright colours, sunshine",
    ),
    Preset(
        "suburban-wonder", "Suburban wonder", "Soft sun, open sky, a camera that wanders like a child.", 1.1, 1.1, 0.25, 0.3,
        ("medium", "wide", "close", "low", "wide"), ("drift", "pan right", "rise", "push", "orbit"),
        "dissolve", "light", "rounded", Grade(0.95, 0.9, 0.15, 0.09, 0.45, 0.045, 0.25, (0.48, 0.52, 0.56), (0.62, 0.56, 0.45), 0.35), 0.0,
        "tender, nostalgic, late afternoon sun", _NO + ", horror",
    ),
    Preset(
        "handmade", "Handmade", "Paper, paint and stop motion: few tones, visible grain, playful wipes.", 0.9, 0.8, 0.0, 0.6,
        ("wide", "overhead", "medium", "detail", "close"), ("pan right", "still", "pan left", "fall", "rise"),
        "blinds", "iris", "handwritten", Grade(1.1, 1.15, 0.08, 0.05, 0.1, 0.08, 0.2, (0.5, 0.47, 0.45), (0.56, 0.55, 0.48), 0.2, 7), 0.0,
        "papercut craft, playful, childlike", _NO + ", photorealism",
    ),
    Preset(
        "silver-portrait", "Silver portrait", "Black and white, one light, faces and details.", 1.2, 0.5, 0.05, 0.8,
        ("close", "detail", "medium", "wide", "close"), ("push", "still", "orbit", "drift"),
        "dissolve", "cut", "grotesque", Grade(1.45, 0.0, 0.0, 0.02, 0.4, 0.07, 0.6), 0.0,
        "black and white studio portrait, single light", _NO + ", colour",
    ),
    Preset(
        "gloss", "Gloss", "Saturated colour, wide lens, everything shines and moves.", 0.75, 1.6, 0.15, 0.8,
        ("low", "medium", "wide", "close", "low"), ("orbit", "push", "pull", "rise"),
        "light", "zoom", "grotesque", Grade(1.2, 1.4, -0.05, 0.0, 0.85, 0.015, 0.3, (0.5, 0.42, 0.6), (0.55, 0.58, 0.6), 0.3), 0.0,
        "glossy, luxurious, shining surfaces, club", _NO + ", dull",
    ),
    Preset(
        "neon-noir", "Neon noir", "Night, rain, teal shadows and magenta light.", 0.95, 1.0, 0.1, 0.3,
        ("wide", "close", "low", "medium", "detail"), ("drift", "push", "pan left", "pan right", "rise"),
        "dissolve", "light", "grotesque", Grade(1.3, 1.2, -0.12, 0.02, 0.9, 0.05, 0.55, (0.3, 0.52, 0.6), (0.68, 0.4, 0.62), 0.45), 0.09,
        "neon night in the rain, cyberpunk", _NO + ", daylight",
    ),
    Preset(
        "documentary", "Documentary", "Handheld, natural colour, long takes.", 1.5, 0.5, 1.0, 0.2,
        ("medium", "wide", "close", "medium"), ("drift", "pan right", "drift", "pan left"),
        "cut", "cut", "serif", Grade(1.0, 0.75, 0.02, 0.05, 0.12, 0.06, 0.2), 0.0,
        "honest, real places, available light", _NO + ", effects",
    ),
    Preset(
        "product-reveal", "Product reveal", "A dark studio, one object, light that travels over it.", 0.9, 0.8, 0.0, 1.0,
        ("close", "detail", "medium", "close", "low"), ("orbit", "push", "rise", "pull"),
        "light", "zoom", "grotesque", Grade(1.3, 1.05, -0.04, 0.0, 0.6, 0.01, 0.6, (0.46, 0.5, 0.56), (0.54, 0.53, 0.5), 0.25), 0.0,
        "premium studio product shot on a pedestal", _NO + ", clutter",
    ),
)  # fmt: skip

PRESETS = {preset.name: preset for preset in _ALL}

#: Other names of presets, in projects imported from other systems.
_ALIASES = {
    "wes-anderson": "pastel-symmetry",
    "david-lynch": "velvet-dream",
    "quentin-tarantino": "grindhouse",
    "tim-burton": "gothic-tale",
    "spike-jonze": "suburban-wonder",
    "michel-gondry": "handmade",
    "mark-romanek": "silver-portrait",
    "hype-williams": "gloss",
    "product-reveal-commercial": "product-reveal",
}


def preset_names() -> tuple[str, ...]:
    """The names of all presets."""
    return tuple(PRESETS)


def find_preset(name: str | None) -> Preset:
    """The preset with this name, in any letter case; `clean` for None. Raises `UnknownPreset`."""
    wanted = (name or "clean").strip().lower().replace(" ", "-").replace("_", "-")
    found = PRESETS.get(_ALIASES.get(wanted, wanted))
    if found is None:
        raise UnknownPreset(f"There is no director preset {name!r}.", fix=f"Choose one of {', '.join(PRESETS)}.")
    return found
