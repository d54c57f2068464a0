"""Colour palettes with descriptions in words, which are matched with a text, and colour words that adjust a palette."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from gateleg.apps.mv.drawing.colour import Colour, from_hex, from_lch, mix, scale, to_lch, turned


@dataclass(frozen=True, slots=True)
class Palette:
    """The colours shared by all elements of a scene."""

    name: str
    words: str
    #: the sky from top to horizon
    zenith: Colour
    middle: Colour
    horizon: Colour
    #: the colour of the light
    light: Colour
    #: distant land, the ground, and the foreground
    far: Colour
    ground: Colour
    near: Colour
    accent: Colour
    accent2: Colour
    #: the colour of the figure, if the text names one
    coat: Colour | None = None

    def at(self, depth: float) -> Colour:
        """The colour of land at a depth from 0 (the horizon) to 1 (in front), with aerial perspective."""
        if depth < 0.5:
            return mix(mix(self.horizon, self.far, 0.55), self.far, depth * 2)
        return mix(self.far, self.ground, (depth - 0.5) * 2)

    @property
    def dark(self) -> bool:
        """Whether it is night, or a dark room."""
        return to_lch(self.middle)[0] < 0.42


_TABLE = """
desert noon|hot dry desert at midday, scorching sun, sand, drought|#2f7fc4 #8cc3e0 #f6dfb0 #fff1c9 #d98b52 #d9722e #7a2f17 #ffcf5a #2aa6a0
mars|red planet, rust, canyon, iron, heat, western|#6b2b2b #c1583a #f0a868 #ffd9a0 #a8432c #b5431f #4a1513 #ffb347 #5fd0c5
golden sunset|golden hour sunset, warm evening, nostalgia, farewell|#2b2a5e #b3476d #ffb057 #ffe0a0 #8a3f5c #5a2b45 #24132b #ffd166 #ff6b6b
rose dawn|early morning dawn, soft pink light, tenderness, new beginning|#7fa7d8 #f2b8c6 #ffe3c8 #fff2dc #c08aa6 #8a6c8e #3c3450 #ff8fa3 #ffd6a5
summer day|bright blue summer day, holiday, joy, sunshine, freedom|#1f7fe0 #6fc0f5 #d8f1ff #fffbe0 #5fae8f #4fb04a #17643c #ffd23f #ff5d5d
spring garden|spring garden, fresh green, blossoms, grandmother, kindness|#8fd0ee #cfeef0 #fff4dd #fff7d6 #8fc08a #63a84c #24592f #ff7fa8 #ffd84d
deep forest|deep green forest, moss, shade, fairy tale woods|#17392f #3f7a58 #b5d99c #eaf7b8 #2f6b4c #24513a #0b2219 #d9f26b #f2a65a
autumn|autumn leaves, october, harvest, melancholy, brown and orange|#8fa3a8 #d9b78a #f6d9a0 #ffe9b8 #a8653a #8a4a22 #3a1d12 #f29f3d #c8352b
winter day|snow, ice, cold winter day, silence, white|#5f8fbc #9dc0de #dce9f2 #fff6e6 #7f9dbb #c3d6e6 #2f4a66 #7cc8ff #ff8f7a
blue night|clear night, stars, moonlight, calm, dreams, sleep|#04071c #0e1f4d #2f5c9a #cfe3ff #13264f #0b1838 #040a1c #9fd0ff #ffe9a8
night ocean|dark ocean at night, deep sea, sailing under the stars|#03091f #0a2a5e #2b79a8 #d5efff #0d2f57 #0a4470 #031226 #6fe3ff #fff1b8
day ocean|open sea in daylight, beach, waves, island, summer coast|#1a86d0 #7ccdee #e3f7f2 #fff8dc #2f8fb5 #1683a8 #0d4662 #ffd77a #ff7f6b
underwater|under water, diving, coral reef, fish, drowning|#02303f #066b80 #2fc0b8 #c9fff0 #0a5566 #083f52 #031d29 #ff8a5c #ffe27a
neon city|neon city at night, cyberpunk, club, nightlife, electric|#0a0620 #2b0f52 #8a1f8f #ff7be5 #1d0f45 #150a33 #07031a #19e3ff #ff2e88
rain night|rainy street at night, lonely, wet asphalt, blues, heartbreak|#080f1c #182c42 #40617a #ffcf8a #14233a #101c2c #060b14 #ffb454 #5fb3ff
grey city|grey city, concrete, office, everyday, overcast, industry|#7d8a94 #a8b3b8 #d5d8d4 #f2efe4 #77828a #555f66 #262c31 #e0a030 #4f8fb0
black and gold|luxury, gold, money, jewellery, limousine, fame|#050403 #17110a #4a3413 #ffdf8f #1f170b #2a1d0a #080502 #ffc83d #fff2c0
blood red|rage, anger, violence, war, danger, blood|#120204 #4a0709 #b3151b #ff8a5c #2b0507 #24050a #080102 #ff3b30 #ffd0a0
fire|fire, flames, burning, hell, inferno, lava|#140303 #5a1206 #e8590c #ffd76a #3a0c06 #2b0905 #0d0302 #ffb020 #ff5a1f
candlelight|warm candlelight, home, kitchen, memory, evening indoors|#1c0f0a #4a2a18 #a8683a #ffdb9a #3a2114 #4f2e1a #160b07 #ffb861 #e0563f
cold room|cold empty room, hospital, loneliness, tears, insomnia|#1b2730 #3f5763 #8fa9b0 #e8f4f4 #33474f #4f666e #141d23 #bfe8e8 #d98f8f
stage|concert stage, spotlights, rock band, performance, crowd|#06050f #16103a #43238f #ffe6b8 #120d2e #1a1440 #050410 #ff4fd8 #4fd8ff
disco|disco, party, dancing, birthday, celebration, joy|#1a0633 #5a1480 #e0409f #ffe9a8 #320d5a #3f1070 #12041f #ffd93d #2ee6d6
synthwave|retro eighties synthwave, video game, arcade, computer grid|#0d0221 #3a0a5f #ff3f81 #ffd35c #2a0850 #1a0540 #08021a #00f0ff #ff5edb
space|outer space, planets, astronaut, universe, cosmic|#02020a #0b0b2a #3a2470 #ffe3c8 #191540 #221a4a #05040f #8fb8ff #ff9a6b
aurora|northern lights, arctic, magic, spirit, wonder|#020d1a #063a48 #1fb58a #c8ffe0 #0a2a3a #0d3344 #03101a #6bffb8 #c77dff
sepia|old photograph, memories, history, grandfather, vintage|#8a6f52 #c2a47c #ecd9b4 #fff2d5 #94744f #6b4f33 #2b1d12 #d98f3f #5f7f78
candy|sweet, candy, childhood, toys, ice cream, pastel, cute|#ffc1d9 #ffdcea #fff3d6 #ffffff #b8a0e0 #8fd8d0 #6a4c93 #ff6fa5 #ffd23f
love|love, romance, kiss, two people, tenderness, wedding|#4a1038 #a82a5c #ff9fa0 #ffe6d0 #7a1f4a #5a1538 #22081a #ff5c8a #ffd1a8
toxic|poison, toxic, monster, alien, acid, weird|#061206 #16401c #7fd63a #e8ffb0 #123018 #1a3d16 #040d05 #b4ff39 #c04dff
machine|machine, robot, steel, factory, technology, chrome|#10161c #2c3c48 #7f9aa8 #e6f6ff #25333e #37464f #0b1014 #4fe0ff #ff7a3d
storm|storm, thunder, hurricane, dark clouds, wrath of nature|#141b24 #34424f #7d8c94 #dfe8ea #2a353f #27323a #0b1014 #9fd8ff #ffe28a
mystic|magic, mystery, occult, ritual, purple smoke, prayer|#0e0620 #33165a #8a4fb5 #f0c8ff #24103f #2a1449 #080312 #c77dff #5effd8
white studio|clean studio, product, minimal, white background, fashion|#d8dde2 #eceff1 #ffffff #ffffff #c4ccd2 #dfe4e8 #343c44 #ff4d3d #2f6fff
dark studio|dark studio, product on a pedestal, premium, night reveal|#07080b #14181f #39434f #f4f8ff #12161c #1b2129 #040507 #5fb8ff #ffc27a
jungle|tropical jungle, rainforest, parrots, heat, adventure|#0d4a4a #2f9a6b #d9f09a #fffbc8 #1f7a4a #1a5c33 #06231a #ff7b2e #ffe14d
meadow evening|evening meadow, fireflies, countryside, folk song, porch|#1b2a4f #5a5f8f #e8a86b #ffe0a8 #3f4f5a #33502f #101c16 #ffe66b #ff9f6b
ghost|ghost, death, grave, fog, haunted, mourning|#10151a #2f3a40 #7d8f8c #e0ede6 #2a3436 #20292a #080b0c #a8ffe6 #d0c8ff
"""


def _read(line: str) -> Palette:
    name, words, colours = line.split("|")
    return Palette(name, words, *(from_hex(colour) for colour in colours.split()))


PALETTES = {palette.name: palette for palette in map(_read, _TABLE.strip().splitlines())}

#: OKLCH hue in turns, and chroma
_HUES = {
    "red": (0.075, 0.19), "crimson": (0.05, 0.19), "scarlet": (0.08, 0.2), "orange": (0.15, 0.16), "amber": (0.2, 0.15), "golden": (0.235, 0.14),
    "gold": (0.235, 0.14), "yellow": (0.29, 0.16), "green": (0.39, 0.16), "emerald": (0.42, 0.14), "turquoise": (0.53, 0.12), "teal": (0.54, 0.1),
    "cyan": (0.55, 0.12), "blue": (0.71, 0.17), "azure": (0.68, 0.14), "indigo": (0.77, 0.17), "purple": (0.84, 0.19), "violet": (0.83, 0.19),
    "magenta": (0.92, 0.22), "pink": (0.985, 0.16), "rose": (0.01, 0.14), "brown": (0.15, 0.07), "rusty": (0.11, 0.12), "lavender": (0.83, 0.1),
}  # fmt: skip
#: words without hue, with their lightness
_GREYS = {"black": 0.12, "white": 0.97, "grey": 0.55, "gray": 0.55, "monochrome": 0.5, "pale": 0.85}
_DARK = frozenset(["night", "midnight", "dark", "darkness", "nocturnal", "moonlit", "moonlight"])
_SNOW = frozenset(["snow", "snowy", "snowfall", "snowstorm", "blizzard", "winter", "wintry", "frost", "frosty"])
_BRIGHT = frozenset(["noon", "midday", "daylight", "bright", "sunny", "morning"])


def palette_for(text: str, nearest: Palette, second: Palette, share: float, seed: int, worn: frozenset[str] = frozenset()) -> Palette:
    """The palette of a text: a mix of the two nearest palettes, adjusted by its colour words and time of day.

    Colour words in `worn` describe the figure ("a red fox in the snow"), so they do not affect the place.
    """
    mixed = _blend(nearest, second, share)
    words = re.findall(r"[a-z]+", text.lower())
    if _DARK & set(words) and not mixed.dark:
        mixed = _nightly(mixed)
    elif _BRIGHT & set(words) and mixed.dark:
        mixed = _daily(mixed)
    if _SNOW & set(words):
        mixed = _snowy(mixed)
    hues = [_HUES[word] for word in words if word in _HUES and word not in worn]
    for number, (hue, chroma) in enumerate(hues[:2]):
        mixed = _bent(mixed, hue, chroma, 1.0 if number == 0 else 0.45, last=number == len(hues[:2]) - 1)
    if not hues:
        mixed = _drifted(mixed, seed)
    for word in words:
        if word in _GREYS and word not in worn:
            mixed = _greyed(mixed, _GREYS[word], 0.35)
    coats = [_coat(word) for word in words if word in worn]
    return replace(mixed, coat=coats[0], accent=mix(mixed.accent, coats[0], 0.6)) if coats else mixed


def _coat(word: str) -> Colour:
    """The colour that a word gives to a figure."""
    hue, chroma = _HUES.get(word, (0.0, 0.0))
    return from_lch(_GREYS.get(word, 0.56), chroma * 0.85, hue)


#: all colour words
COLOUR_WORDS = frozenset([*_HUES, *_GREYS])
_FIELDS = ("zenith", "middle", "horizon", "light", "far", "ground", "near", "accent", "accent2")


def _each(palette: Palette, change: dict[str, Colour]) -> Palette:
    return replace(palette, **change)  # type: ignore[arg-type]


def _blend(one: Palette, other: Palette, share: float) -> Palette:
    return _each(one, {name: mix(getattr(one, name), getattr(other, name), share) for name in _FIELDS})


def _nightly(palette: Palette) -> Palette:
    """The palette at night: darker and bluer, with bright accents."""
    night = PALETTES["blue night"]
    change = {name: mix(scale(getattr(palette, name), 0.4), getattr(night, name), 0.55) for name in _FIELDS[:7]}
    return _each(palette, change)


def _daily(palette: Palette) -> Palette:
    day = PALETTES["summer day"]
    return _each(palette, {name: mix(getattr(palette, name), getattr(day, name), 0.6) for name in _FIELDS[:7]})


def _snowy(palette: Palette) -> Palette:
    """The palette under snow: a ground as white as the light allows, and cooler air."""
    winter = PALETTES["winter day"]
    shares = {"zenith": 0.3, "middle": 0.3, "horizon": 0.3, "far": 0.45, "ground": 0.4 if palette.dark else 0.8, "light": 0.3}
    return _each(palette, {name: mix(getattr(palette, name), getattr(winter, name), share) for name, share in shares.items()})


#: how strongly a colour word affects each colour
_VIVID = {"light": 0.2, "far": 0.9, "ground": 1.05, "zenith": 0.5, "horizon": 0.5}


def _bent(palette: Palette, hue: float, chroma: float, strength: float, last: bool) -> Palette:
    shares = {"zenith": 0.35, "middle": 0.5, "horizon": 0.35, "light": 0.15, "far": 0.85, "ground": 0.95, "near": 0.9, "accent": 0.6}
    change = {
        name: turned(getattr(palette, name), hue, share * strength, chroma * (_VIVID.get(name, 0.7))) for name, share in shares.items()
    }
    if last:
        change["accent"] = mix(from_lch(0.74, chroma, hue), palette.accent, 0.25)
    return _each(palette, change)


def _drifted(palette: Palette, seed: int) -> Palette:
    """Rotate all hues slightly, so that two seeds differ."""
    turn = ((seed * 0.618034) % 1.0 - 0.5) * 0.06
    change = {}
    for name in _FIELDS:
        lightness, chroma, hue = to_lch(getattr(palette, name))
        change[name] = from_lch(lightness, chroma, (hue + turn) % 1.0)
    return _each(palette, change)


def _greyed(palette: Palette, lightness: float, share: float) -> Palette:
    change = {}
    for name in _FIELDS[:7]:
        light, chroma, hue = to_lch(getattr(palette, name))
        change[name] = from_lch(light + (lightness - light) * share * 0.6, chroma * (1 - share), hue)
    return _each(palette, change)
