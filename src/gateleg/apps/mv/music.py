"""Synthesise a song (drums, bass, chords, arpeggio and lead), so that a first video needs no file.

The song depends only on its arguments, and its beats and sections are known exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gateleg.apps.mv.listening.sound import Doubles, Sound

_RATE = 44_100
#: progressions of four chords, as semitones above the tonic of a minor key
_ROUNDS = (
    ((0, 3, 7), (-4, 0, 3), (3, 7, 10), (-2, 2, 5)),
    ((0, 3, 7), (5, 8, 12), (-4, 0, 3), (-2, 2, 5)),
    ((0, 3, 7), (3, 7, 10), (-2, 2, 5), (-5, -2, 2)),
)
_SCALE = (0, 3, 5, 7, 10, 12, 15)
#: gains in each part: drums, cymbals, bass, chords, arpeggio, lead
_PARTS = {
    "intro": (0.0, 0.5, 0.0, 0.7, 0.5, 0.0),
    "verse": (0.9, 0.6, 0.8, 0.6, 0.4, 0.0),
    "chorus": (1.0, 0.9, 1.0, 1.0, 0.8, 1.0),
    "break": (0.0, 0.2, 0.3, 1.0, 0.6, 0.0),
    "outro": (0.4, 0.3, 0.5, 0.8, 0.3, 0.0),
}
_ORDER = ("intro", "verse", "chorus", "verse", "chorus", "break", "chorus", "outro")


@dataclass(frozen=True, slots=True, eq=False)
class DemoSong:
    """A synthesised song with its exact beats and parts."""

    sound: Sound
    tempo: float
    beats: tuple[float, ...]
    #: the start of each part in seconds, and its name
    parts: tuple[tuple[float, str], ...]


def synthesise_song(seconds: float = 60.0, tempo: float = 118.0, seed: int = 0) -> DemoSong:
    """Synthesise a song of about this length: whole bars, plus a second in which the last chord fades."""
    random = np.random.default_rng([seed, 77])
    beat = 60.0 / tempo
    bars = max(int((seconds - 1.0) / (4 * beat)), 4)
    parts = _arranged(bars)
    track = np.zeros((2, int((bars * 4 * beat + 1.0) * _RATE)))
    band = _Band(track, beat, random)
    for bar, part in enumerate(parts):
        band.play(bar, part, last=bar == bars - 1)
    track = np.tanh(track * 1.1) * 0.8
    starts = [bar for bar in range(bars) if bar == 0 or parts[bar] != parts[bar - 1]]
    return DemoSong(
        Sound(track.astype(np.float32), _RATE),
        tempo,
        tuple(float(beat * index) for index in range(bars * 4)),
        tuple((bar * 4 * beat, parts[bar]) for bar in starts),
    )


def _arranged(bars: int) -> list[str]:
    """The part of each bar. Parts have four bars in short songs and eight in long ones; the chorus returns until the end."""
    size = 8 if bars >= 56 else 4 if bars >= 12 else 2
    order = [*_ORDER[:-1], "verse", "chorus"] * (1 + bars // (size * len(_ORDER)))
    parts = [part for part in order for _ in range(size)][:bars]
    return parts if bars < 12 else [*parts[: -(bars % size or size)], *["outro"] * (bars % size or size)]


class _Band:
    """The instruments, which add their notes to the track."""

    def __init__(self, track: Doubles, beat: float, random: np.random.Generator) -> None:
        self.track, self.beat, self.random = track, beat, random
        self.tonic = 110.0 * 2 ** (int(random.integers(-4, 5)) / 12)
        self.round = _ROUNDS[int(random.integers(len(_ROUNDS)))]
        self.melody = [int(random.choice(_SCALE)) for _ in range(8)]
        self.steps = [int(step) for step in random.permutation(4)]
        self.tones: dict[tuple[float, float, int, float, float], Doubles] = {}
        self.kick = self._drum(0.28, 16.0, 48.0, 130.0, 0.0)
        self.snare = self._drum(0.22, 18.0, 185.0, 40.0, 0.75)
        self.hat = np.diff(self._drum(0.06, 70.0, 7000.0, 0.0, 1.0), prepend=0.0)

    def _drum(self, length: float, decay: float, pitch: float, sweep: float, noise: float) -> Doubles:
        times = np.arange(int(length * _RATE)) / _RATE
        body = np.sin(2 * np.pi * (pitch * times + sweep * (1 - np.exp(-30 * times)) / 30))
        hiss = self.random.standard_normal(len(times))
        return np.asarray(((1 - noise) * body + noise * hiss) * np.exp(-decay * times))

    def _add(self, at: float, samples: Doubles, gain: float, pan: float = 0.0) -> None:
        start = round(at * _RATE)
        end = min(start + len(samples), self.track.shape[1])
        self.track[0, start:end] += samples[: end - start] * gain * (1 - max(pan, 0.0))
        self.track[1, start:end] += samples[: end - start] * gain * (1 + min(pan, 0.0))

    def _tone(self, semitones: float, length: float, harmonics: int, soft: float = 0.01, decay: float = 0.0) -> Doubles:
        """The samples of a note, cached."""
        key = (semitones, length, harmonics, soft, decay)
        if key not in self.tones:
            self.tones[key] = self._sung(*key)
        return self.tones[key]

    def _sung(self, semitones: float, length: float, harmonics: int, soft: float, decay: float) -> Doubles:
        times = np.arange(int(length * _RATE)) / _RATE
        pitch = self.tonic * 2 ** (semitones / 12)
        wave = np.zeros(len(times))
        for harmonic in range(1, harmonics + 1):
            if pitch * harmonic < 9_000:
                wave += np.sin(2 * np.pi * pitch * harmonic * times + harmonic) / harmonic**1.35
        return wave * np.minimum(times / soft, 1.0) * np.clip((length - times) / 0.06, 0.0, 1.0) * np.exp(-decay * times)

    def play(self, bar: int, part: str, last: bool) -> None:
        """Play one bar with all instruments."""
        drums, cymbals, bass, chords, arpeggio, lead = _PARTS[part]
        start, chord = bar * 4 * self.beat, self.round[bar % 4]
        length = 4 * self.beat + (0.9 if last else 0.0)
        for note, pan in zip(chord, (-0.4, 0.0, 0.4), strict=True):
            for detune in (-0.07, 0.06):
                self._add(start, self._tone(note + 12 + detune, length, 9, soft=0.08), 0.035 * chords, pan)
        for beat in range(4):
            at = start + beat * self.beat
            self._rhythm(at, beat, drums, cymbals, fill=bar % 4 == 3 and beat == 3)
            for half in (0.0, 0.5):
                self._add(at + half * self.beat, self._tone(chord[0] - 12, self.beat * 0.45, 6, decay=3.0), 0.24 * bass)
            for step in range(4):
                note = chord[self.steps[step] % 3] + (24 if self.steps[step] == 3 else 12) + 12
                pan = 0.5 if step % 2 else -0.5
                self._add(at + step * self.beat / 4, self._tone(note, self.beat * 0.3, 4, decay=9.0), 0.05 * arpeggio, pan)
            if lead and beat % 2 == 0:
                note = self.melody[(bar * 2 + beat // 2) % 8] + 24
                self._add(at, self._tone(note, self.beat * 1.8, 7, soft=0.03, decay=0.8), 0.085 * lead)

    def _rhythm(self, at: float, beat: int, drums: float, cymbals: float, fill: bool) -> None:
        if drums:
            self._add(at, self.kick if beat % 2 == 0 else self.snare, (0.85 if beat % 2 == 0 else 0.5) * drums)
            if fill:
                self._add(at + self.beat / 2, self.snare, 0.35 * drums)
        self._add(at + self.beat / 2, self.hat, 0.16 * cymbals, 0.3)
        self._add(at, self.hat, 0.09 * cymbals, -0.2)
