"""Loudness in LUFS by EBU R128 (ITU-R BS.1770), which streaming services use, and the true peak in dB."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from collections.abc import Callable

    from gateleg.apps.mv.listening.sound import Doubles, Floats, Sound

Complexes = npt.NDArray[np.complex128]

_BLOCK = 1 << 17
#: samples until a filter's impulse response has faded, used as overlap between blocks
_OVERLAP = 1 << 14
#: the loudness of silence
SILENCE = -70.0


@dataclass(frozen=True, slots=True)
class Loudness:
    """Integrated loudness in LUFS, and the highest true peak in dB relative to full scale."""

    integrated: float
    true_peak: float


def _biquad(frequencies: Doubles, rate: int, numerator: tuple[float, ...], denominator: tuple[float, ...]) -> Complexes:
    z = np.exp(-2j * np.pi * frequencies / rate)
    return np.asarray(np.polyval(numerator[::-1], z) / np.polyval(denominator[::-1], z))


def _shelf(rate: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The high shelf filter that models the head, for any sample rate."""
    k = np.tan(np.pi * 1681.974450955533 / rate)
    gain, quality = 10 ** (3.999843853973347 / 20), 0.7071752369554196
    root = gain**0.4996667741545416
    base = 1 + k / quality + k * k
    return (
        ((gain + root * k / quality + k * k) / base, 2 * (k * k - gain) / base, (gain - root * k / quality + k * k) / base),
        (1.0, 2 * (k * k - 1) / base, (1 - k / quality + k * k) / base),
    )


def _high_pass(rate: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    k = np.tan(np.pi * 38.13547087602444 / rate)
    quality = 0.5003270373238773
    base = 1 + k / quality + k * k
    return (1.0, -2.0, 1.0), (1.0, 2 * (k * k - 1) / base, (1 - k / quality + k * k) / base)


def _filtered(samples: Floats, answer: Callable[[Doubles], Complexes]) -> Floats:
    """Apply a filter, given by its frequency response, in overlapping blocks."""
    out = np.zeros_like(samples)
    size = _BLOCK + _OVERLAP
    response = answer(np.asarray(np.fft.rfftfreq(size), dtype=np.float64))
    for at in range(0, samples.shape[1], _BLOCK):
        before = min(at, _OVERLAP)
        block = samples[:, at - before : at + _BLOCK]
        shaped = np.fft.irfft(np.fft.rfft(block, size, axis=1) * response, size, axis=1)
        out[:, at : at + _BLOCK] = shaped[:, before : before + min(_BLOCK, samples.shape[1] - at)]
    return out


def weighted(sound: Sound) -> Floats:
    """The samples after the K-weighting of BS.1770."""

    def answer(normal: Doubles) -> Complexes:
        frequencies = normal * sound.rate
        return _biquad(frequencies, sound.rate, *_shelf(sound.rate)) * _biquad(frequencies, sound.rate, *_high_pass(sound.rate))

    return _filtered(sound.samples, answer)


def _powers(samples: Floats, rate: int) -> Doubles:
    """The mean power of blocks of 400 ms, one every 100 ms, summed over the channels."""
    step = rate // 10
    if samples.shape[1] < 4 * step:
        samples = np.pad(samples, ((0, 0), (0, 4 * step - samples.shape[1])))
    count = samples.shape[1] // step
    steps = (samples[:, : count * step].reshape(samples.shape[0], count, step).astype(np.float64) ** 2).sum(axis=(0, 2))
    return np.convolve(steps, np.ones(4), mode="valid") / (4 * step)


def _level(power: float) -> float:
    return -0.691 + 10 * float(np.log10(max(power, 1e-12)))


def integrated_loudness(sound: Sound) -> float:
    """Integrated loudness in LUFS, gated by BS.1770-4."""
    powers = _powers(weighted(sound), sound.rate)
    loud = powers[10 * np.log10(np.maximum(powers, 1e-12)) - 0.691 > SILENCE]
    if not len(loud):
        return SILENCE
    gate = float(loud.mean()) / 10.0
    kept = loud[loud > gate]
    return max(_level(float(kept.mean() if len(kept) else loud.mean())), SILENCE)


def peak_envelope(samples: Floats) -> Doubles:
    """The highest absolute value near each sample, at four times oversampling."""
    out = np.zeros(samples.shape[1])
    overlap = 512
    for at in range(0, samples.shape[1], _BLOCK):
        start, end = max(at - overlap, 0), min(at + _BLOCK + overlap, samples.shape[1])
        block = samples[:, start:end]
        spectrum = np.fft.rfft(block, axis=1)
        fine = np.fft.irfft(spectrum, 4 * block.shape[1], axis=1) * 4
        highest = np.abs(fine).max(axis=0).reshape(-1, 4).max(axis=1)
        take = min(_BLOCK, samples.shape[1] - at)
        out[at : at + take] = highest[at - start : at - start + take]
    return np.asarray(np.maximum(out, np.abs(samples).max(axis=0)), dtype=np.float64)


def true_peak(samples: Floats) -> float:
    """The true peak in dB relative to full scale."""
    return 20 * float(np.log10(max(float(peak_envelope(samples).max(initial=0.0)), 1e-7)))


def measure(sound: Sound) -> Loudness:
    """Measure loudness and true peak."""
    return Loudness(round(integrated_loudness(sound), 2), round(true_peak(sound.samples), 2))
