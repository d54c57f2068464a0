"""Tracks whose beats are known, for tests and for bench/mv.py: straight, swung, half-time, rubato, cymbals first, speech."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Doubles = npt.NDArray[np.float64]
RATE = 44_100


def _drum(length: float, decay: float, pitch: float, sweep: float, noise: float, random: np.random.Generator) -> Doubles:
    times = np.arange(int(length * RATE)) / RATE
    body = np.sin(2 * np.pi * (pitch * times + sweep * (1 - np.exp(-30 * times)) / 30))
    return np.asarray(((1 - noise) * body + noise * random.standard_normal(len(times))) * np.exp(-decay * times))


def _put(track: Doubles, at: float, sound: Doubles, gain: float) -> None:
    start = round(at * RATE)
    end = min(start + len(sound), len(track))
    if 0 <= start < end:
        track[start:end] += gain * sound[: end - start]


def steady(tempo: float, seconds: float, start: float = 0.3) -> Doubles:
    """The beats of a drum machine."""
    return np.arange(start, seconds - 0.2, 60 / tempo)


def breathing(tempo: float, seconds: float, depth: float, pace: float) -> Doubles:
    """The beats of somebody who slows down and hurries: `depth` of the tempo, `pace` times a second."""
    beats = [0.3]
    while beats[-1] < seconds - 0.5:
        beats.append(beats[-1] + 60 / (tempo * (1 + depth * np.sin(2 * np.pi * pace * beats[-1]))))
    return np.array(beats)


def band(
    beats: Doubles, seconds: float, swing: float = 0.5, half: bool = False, cymbals_until: float = 0.0, chords: bool = True, seed: int = 0
) -> Doubles:
    """Kick, snare, off-beat cymbals, bass and chords on given beats; only cymbals at first when asked."""
    random = np.random.default_rng(seed)
    track = np.zeros(int(seconds * RATE))
    kick = _drum(0.25, 18, 50, 120, 0.0, random)
    snare = _drum(0.2, 22, 190, 0, 0.8, random)
    hat = np.diff(_drum(0.05, 90, 8000, 0, 1.0, random), prepend=0.0)
    for number, at in enumerate(beats):
        step = float(beats[number + 1] - at if number + 1 < len(beats) else at - beats[number - 1])
        _put(track, at + step * swing, hat, 0.5)
        if at < cymbals_until:
            continue
        _put(track, at, hat, 0.3)
        place = number % 4
        if place == 0 or (place == 2 and not half):
            _put(track, at, kick, 0.9)
        if (place in (1, 3) and not half) or (place == 2 and half):
            _put(track, at, snare, 0.5)
        if chords and place == 0:
            _put(track, at, _chord(220 * 2 ** ((0, -4, 3, -2)[number // 4 % 4] / 12), 4 * step), 1.0)
    return track


def _chord(root: float, length: float) -> Doubles:
    times = np.arange(int(length * RATE)) / RATE
    edge = np.minimum(1, times * 8) * np.minimum(1, (length - times) * 8)
    tones = sum(np.sin(2 * np.pi * root * 2 ** (step / 12) * times) for step in (0, 4, 7)) * 0.06
    return np.asarray((tones + 0.2 * np.sin(2 * np.pi * root / 4 * times)) * edge)


def speech(seconds: float, seed: int = 0) -> Doubles:
    """Syllables of uneven length with pauses: something that sounds, without a pulse."""
    random = np.random.default_rng(seed)
    track, at = np.zeros(int(seconds * RATE)), 0.2
    while at < seconds - 0.5:
        length = float(random.uniform(0.08, 0.3))
        times, pitch = np.arange(int(length * RATE)) / RATE, float(random.uniform(90, 180))
        tone = sum(np.sin(2 * np.pi * pitch * k * times + random.uniform(0, 6)) / k for k in range(1, 20))
        _put(track, at, np.asarray(tone * np.hanning(len(times)) * 0.15), float(random.uniform(0.4, 1)))
        at += length + float(random.exponential(0.08)) + (float(random.uniform(0.3, 0.8)) if random.random() < 0.12 else 0.0)
    return track
