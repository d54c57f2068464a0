"""The analysis of a song: tempo, beats, bars, sections, key, loudness, and the envelopes that animation follows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gateleg.apps.mv.callbacks import check_cancelled, ignore_progress, never_cancelled
from gateleg.apps.mv.listening.bars import find_bars
from gateleg.apps.mv.listening.beats import track_beats
from gateleg.apps.mv.listening.keys import find_key
from gateleg.apps.mv.listening.loudness import Loudness, measure
from gateleg.apps.mv.listening.sections import Section, find_sections
from gateleg.apps.mv.listening.sound import MAX_SECONDS, Doubles, Sound, read_sound
from gateleg.apps.mv.listening.spectrum import FRAMES, RATE, Spectrum, analyse_spectrum
from gateleg.apps.mv.listening.tempo import find_tempo

if TYPE_CHECKING:
    from pathlib import Path

    from gateleg.apps.mv.callbacks import Cancelling, Progress

__all__ = ["CURVE_RATE", "Loudness", "Section", "Song", "analyse_sound", "listen"]

#: values of a curve per second
CURVE_RATE = 50
#: the clarity below which a song has no usable beat: speech and noise stay under 0.1, a live drum kit is above 0.15
_PULSE = 0.12
#: seconds between the lines of the grid that replaces bars and beats if there is no clear beat
_STEP = 0.5


@dataclass(frozen=True, slots=True)
class Song:
    """The analysis of a song. Times are in seconds; curves have `CURVE_RATE` values per second, each from 0 to 1."""

    duration: float
    #: beats per minute; 0 if there is no clear beat
    tempo: float
    #: how clear the beat is, from 0 to 1; under 0.12 the beats are a fixed grid
    clarity: float
    meter: int
    beats: tuple[float, ...]
    bars: tuple[float, ...]
    sections: tuple[Section, ...]
    key: str
    loudness: Loudness
    #: envelopes of the low, middle and high bands, and of the whole
    low: tuple[float, ...]
    mid: tuple[float, ...]
    high: tuple[float, ...]
    level: tuple[float, ...]
    #: onsets by band, in seconds: drums, instruments and voices, cymbals
    onsets: tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]

    @property
    def has_pulse(self) -> bool:
        """Whether the beats were detected; otherwise they are a fixed grid."""
        return self.tempo > 0

    def to_json(self) -> dict[str, Any]:
        """The analysis as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Song:
        """The analysis from the values of `to_json`."""
        fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
        sections = tuple(Section(**section) for section in data["sections"])
        low, mid, high = (tuple(times) for times in data["onsets"])
        return cls(**fields | {"sections": sections, "onsets": (low, mid, high), "loudness": Loudness(**data["loudness"])})


def listen(path: Path, longest: float = MAX_SECONDS, progress: Progress = ignore_progress, cancelled: Cancelling = never_cancelled) -> Song:
    """Decode and analyse a song of at most `longest` seconds. Raises `UnreadableSong`, `SongTooLong` or `Cancelled`."""
    progress(0.0, "decoding the song")
    sound = read_sound(path, 44_100, 2, longest, cancelled)
    return analyse_sound(sound, progress, cancelled)


def analyse_sound(sound: Sound, progress: Progress = ignore_progress, cancelled: Cancelling = never_cancelled) -> Song:
    """Analyse a decoded song."""
    check_cancelled(cancelled)
    progress(0.3, "measuring loudness")
    loudness = measure(sound)
    check_cancelled(cancelled)
    progress(0.5, "finding the beats")
    spectrum = analyse_spectrum(_resampled(sound))
    tempo = find_tempo(spectrum.onsets + 1.2 * spectrum.low)
    check_cancelled(cancelled)
    pulse = tempo.clarity >= _PULSE
    beats = track_beats(spectrum, tempo) if pulse else np.zeros(0)
    if len(beats) < 4:
        pulse, beats = False, np.arange(0.0, sound.duration, _STEP)
    beats = beats[beats < sound.duration]
    meter, first = find_bars(spectrum, beats) if pulse else (4, 0)
    bars = beats[first::meter]
    progress(0.8, "finding the sections")
    sections = find_sections(spectrum, bars, sound.duration)
    curves = [_curve(_envelope(spectrum, *band), sound.duration) for band in ((0, 9), (9, 24), (24, 32), (0, 32))]
    progress(1.0, "heard")
    bpm = 60.0 / float(np.median(np.diff(beats))) if pulse else 0.0
    return Song(
        duration=round(sound.duration, 4),
        tempo=round(bpm, 2),
        clarity=round(tempo.clarity, 3) if pulse else 0.0,
        meter=meter,
        beats=_rounded(beats),
        bars=_rounded(bars),
        sections=sections,
        key=find_key(spectrum.chroma[spectrum.level > 1e-3]),
        loudness=loudness,
        low=curves[0],
        mid=curves[1],
        high=curves[2],
        level=curves[3],
        onsets=(_peaks(spectrum.drums), _peaks(spectrum.mid), _peaks(spectrum.high)),
    )


def _rounded(times: Doubles) -> tuple[float, ...]:
    return tuple(round(float(time), 4) for time in times)


def _resampled(sound: Sound) -> Any:
    """Mono samples at the rate of the analysis, which is half of 44,100."""
    mono = sound.mono()
    if sound.rate == 2 * RATE:
        return mono[: len(mono) // 2 * 2].reshape(-1, 2).mean(axis=1)
    times = np.arange(0, len(mono), sound.rate / RATE)
    return np.interp(times, np.arange(len(mono)), mono).astype(np.float32)


def _envelope(spectrum: Spectrum, start: int, end: int) -> Doubles:
    """The loudness of bands, with an instant attack and a release of about a fifth of a second."""
    loud = np.asarray(spectrum.bands[:, start:end].mean(axis=1), dtype=np.float64)
    floor, top = float(np.percentile(loud, 5)), float(np.percentile(loud, 99.5))
    if top - floor < 0.02:
        return np.zeros(len(loud))
    scaled = np.clip((loud - floor) / (top - floor), 0.0, 1.0)
    held, fall = 0.0, float(np.exp(-1 / (0.2 * FRAMES)))
    for at, value in enumerate(scaled):
        held = max(float(value), held * fall)
        scaled[at] = held
    return scaled


def _curve(values: Doubles, duration: float) -> tuple[float, ...]:
    times = np.arange(0.0, duration, 1 / CURVE_RATE)
    return tuple(round(float(value), 3) for value in np.interp(times, np.arange(len(values)) / FRAMES, values))


def _peaks(curve: Doubles) -> tuple[float, ...]:
    """The times of distinct peaks, at least 80 ms apart."""
    if len(curve) < 3:
        return ()
    tops = np.flatnonzero((curve[1:-1] >= curve[:-2]) & (curve[1:-1] > curve[2:]) & (curve[1:-1] > 1.5)) + 1
    kept: list[int] = []
    for top in tops:
        if not kept or top - kept[-1] > 0.08 * FRAMES:
            kept.append(int(top))
        elif curve[top] > curve[kept[-1]]:
            kept[-1] = int(top)
    return _rounded(np.array(kept) / FRAMES)
