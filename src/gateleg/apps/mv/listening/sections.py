"""Section detection by the self-similarity of bars."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from gateleg.apps.mv.listening.spectrum import FRAMES, Spectrum

if TYPE_CHECKING:
    from gateleg.apps.mv.listening.sound import Doubles

Part = Literal["intro", "verse", "chorus", "break", "outro"]

#: the shortest section, in bars or steps
_SHORTEST = 4
#: the similarity from which on two sections are the same part
_SAME = 0.72
#: how far a boundary must stand out from the bars around it
_PROMINENT = 0.07


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a song."""

    start: float
    end: float
    part: Part
    #: sections that sound alike have the same letter
    letter: str
    #: how many earlier sections have this letter
    repeat: int
    #: from 0 (the quietest of the song) to 1 (the loudest)
    energy: float


def find_sections(spectrum: Spectrum, lines: Doubles, duration: float) -> tuple[Section, ...]:
    """The sections of a song. Their boundaries are among `lines`: bar lines, or steps of a few seconds if the song has no clear beat."""
    edges = np.concatenate(([0.0], lines[(lines > 0.5) & (lines < duration - 0.5)], [duration]))
    features, levels = _features(spectrum, edges)
    cuts = _boundaries(features)
    spans = list(itertools.pairwise(cuts))
    means = np.array([features[start:end].mean(axis=0) for start, end in spans])
    energies = _scaled(np.array([levels[start:end].mean() for start, end in spans]))
    letters = _letters(means)
    parts = _parts(letters, energies)
    sections, seen = [], dict.fromkeys(letters, 0)
    for (start, end), letter, part, energy in zip(spans, letters, parts, energies, strict=True):
        sections.append(
            Section(round(float(edges[start]), 4), round(float(edges[end]), 4), part, letter, seen[letter], round(float(energy), 3))
        )
        seen[letter] += 1
    return tuple(sections)


def _features(spectrum: Spectrum, edges: Doubles) -> tuple[Doubles, Doubles]:
    """The features of each bar (timbre, harmony, drums; standardised), and its loudness."""
    rows, levels = [], []
    for start, end in itertools.pairwise(edges):
        first, last = int(start * FRAMES), max(int(end * FRAMES), int(start * FRAMES) + 1)
        bands = spectrum.bands[first:last]
        timbre = bands.mean(axis=0).reshape(8, 4).mean(axis=1)
        busy = [float(curve[first:last].mean()) for curve in (spectrum.drums, spectrum.mid, spectrum.high)]
        rows.append(np.concatenate((timbre * 1.6, spectrum.chroma[first:last].mean(axis=0) * 0.7, np.array(busy) * 0.8)))
        levels.append(float(np.log10(1e-4 + spectrum.level[first:last].mean())) + 0.15 * sum(busy))
    found = np.array(rows)
    scale = np.maximum(found.std(axis=0), 0.15)
    return (found - found.mean(axis=0)) / scale, np.array(levels)


def _boundaries(features: Doubles) -> list[int]:
    """Bars with the largest change of sound: peaks of a checkerboard kernel over the self-similarity matrix."""
    count = len(features)
    if count < 2 * _SHORTEST:
        return [0, count]
    distances = np.linalg.norm(features[:, None] - features[None, :], axis=2)
    similar = np.exp(-distances / max(float(np.median(distances)), 1e-6))
    novelty = np.array([_novelty(similar, at) for at in range(count)])
    around = np.lib.stride_tricks.sliding_window_view(np.pad(novelty, 3, mode="edge"), 7)
    prominence = novelty - np.median(around, axis=1)
    cuts = [0]
    for at in np.argsort(-prominence):
        if prominence[at] < _PROMINENT:
            break
        if novelty[at] >= around[at].max() and all(abs(int(at) - other) >= _SHORTEST for other in cuts) and count - at >= 2:
            cuts.append(int(at))
    return [*sorted(cuts), count]


def _novelty(similar: Doubles, at: int) -> float:
    """The similarity of bars on each side of a bar line, minus their similarity across it."""
    reach = min(_SHORTEST, at, len(similar) - at)
    if reach < 2:
        return 0.0
    before, after = slice(at - reach, at), slice(at, at + reach)
    pairs = reach * (reach - 1)
    within = (similar[before, before].sum() + similar[after, after].sum() - 2 * reach) / (2 * pairs)
    return float(within - similar[before, after].mean())


def _scaled(values: Doubles) -> Doubles:
    lowest, highest = float(values.min()), float(values.max())
    if highest - lowest < 0.08:
        return np.full(len(values), 0.5)
    return np.asarray((values - lowest) / (highest - lowest))


def _letters(means: Doubles) -> list[str]:
    """A letter for each section; sections that sound alike have the same one."""
    letters: list[str] = []
    for at, mean in enumerate(means):
        near = [_near(mean, means[other]) for other in range(at)]
        twin = int(np.argmax(near)) if near else -1
        letters.append(letters[twin] if near and near[twin] > _SAME else chr(ord("A") + len(set(letters))))
    return letters


def _near(one: Doubles, other: Doubles) -> float:
    """The similarity of two sounds: 1 if they are equal, falling to 0 with their distance in standard deviations."""
    return float(np.exp(-(((one - other) ** 2).mean()) / 0.9))


def _parts(letters: list[str], energies: Doubles) -> list[Part]:
    """Name the sections by energy and position: the loudest repeated letter is the chorus, a quiet start or end is intro or outro."""
    mean = {
        letter: float(np.mean([energy for other, energy in zip(letters, energies, strict=True) if other == letter])) for letter in letters
    }
    often = {letter: letters.count(letter) for letter in letters}
    chorus = max(mean, key=lambda letter: mean[letter] + (0.25 if often[letter] > 1 else 0.0))
    parts: list[Part] = []
    last = len(letters) - 1
    for at, (letter, energy) in enumerate(zip(letters, energies, strict=True)):
        if letter == chorus and mean[chorus] >= 0.5 and last > 0:
            parts.append("chorus")
        elif at == 0 and last > 0 and energy < 0.6:
            parts.append("intro")
        elif at == last and last > 0 and energy < 0.6:
            parts.append("outro")
        elif 0 < at < last and energy < 0.45 and "chorus" in parts:
            parts.append("break")
        else:
            parts.append("verse")
    return parts
