from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
import numpy as np
import pytest

from gateleg.apps.mv.errors import SongTooLong, UnreadableSong
from gateleg.apps.mv.listening.loudness import integrated_loudness, true_peak
from gateleg.apps.mv.listening.sound import Sound, read_sound, write_wave

if TYPE_CHECKING:
    from pathlib import Path

TONE = Sound((0.25 * np.sin(2 * np.pi * 997 * np.arange(3 * 48_000) / 48_000))[None].repeat(2, 0).astype(np.float32), 48_000)


def encoded(path: Path, codec: str) -> Path:
    with av.open(str(path), "w") as target:
        stream: Any = target.add_stream(codec, rate=48_000, layout="stereo")
        for at in range(0, TONE.samples.shape[1] - 1024, 1024):
            block = TONE.samples[:, at : at + 1024]
            frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(block), format="fltp", layout="stereo")
            frame.sample_rate, frame.pts, frame.time_base = 48_000, at, Fraction(1, 48_000)
            target.mux(stream.encode(frame))
        target.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(("name", "codec"), [("a.mp3", "libmp3lame"), ("a.m4a", "aac"), ("a.flac", "flac"), ("a.ogg", "libopus")])
def test_usual_formats_are_decoded(tmp_path: Path, name: str, codec: str) -> None:
    try:
        path = encoded(tmp_path / name, codec)
    except ValueError:
        pytest.skip(f"This build of ffmpeg cannot write {codec} from these samples.")
    sound = read_sound(path, 22_050, 1)
    assert (sound.rate, sound.samples.shape[0]) == (22_050, 1)
    assert sound.duration == pytest.approx(3, abs=0.15)


def test_half_a_file_gives_what_is_in_it(tmp_path: Path) -> None:
    path = encoded(tmp_path / "a.mp3", "libmp3lame")
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    assert read_sound(path).duration == pytest.approx(1.5, abs=0.2)


@pytest.mark.parametrize("data", [b"", b"not a song", b"RIFF\x00\x00\x00\x00WAVEfmt ", bytes(range(256)) * 20])
def test_what_is_not_a_song_is_refused_by_name(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "song.mp3"
    path.write_bytes(data)
    with pytest.raises(UnreadableSong, match=r"song\.mp3"):
        read_sound(path)


def test_a_song_that_is_too_long_is_refused_while_it_is_decoded(tmp_path: Path) -> None:
    write_wave(TONE, tmp_path / "long.wav")
    with pytest.raises(SongTooLong):
        read_sound(tmp_path / "long.wav", longest=1.0)


def test_loudness_is_what_ffmpeg_measures(wave: Path) -> None:
    sound = read_sound(wave)
    with av.open(str(wave)) as source:
        graph = av.filter.Graph()
        chain = [graph.add_abuffer(template=source.streams.audio[0]), graph.add("ebur128", "metadata=1"), graph.add("abuffersink")]
        graph.link_nodes(*chain).configure()
        measured = 0.0
        for frame in source.decode(audio=0):
            graph.push(frame)
            while True:
                try:
                    pulled = graph.pull()
                except (BlockingIOError, av.EOFError):
                    break
                measured = float(pulled.metadata.get("lavfi.r128.I", measured)) if hasattr(pulled, "metadata") else measured
    if not measured:
        pytest.skip("This PyAV does not show what filters say about frames.")
    assert integrated_loudness(sound) == pytest.approx(measured, abs=0.2)


def test_a_tone_of_known_loudness_is_measured() -> None:
    # BS.1770: a sine of 997 Hz at 0 dB in one channel is -3.01 LUFS; ours is in two channels at -12.04 dB.
    assert integrated_loudness(TONE) == pytest.approx(-12.04, abs=0.1)


def test_the_true_peak_is_found_between_samples() -> None:
    # A sine at a quarter of the rate whose samples all lie at 45 degrees: each is 3 dB below the peak.
    samples = np.sin(np.pi / 2 * np.arange(4800) + np.pi / 4).astype(np.float32)[None] * 0.5
    assert true_peak(samples) == pytest.approx(-6.02, abs=0.2)
    assert 20 * np.log10(np.abs(samples).max()) == pytest.approx(-9.03, abs=0.05)


def test_titles_may_be_in_any_encoding(tmp_path: Path) -> None:
    path = tmp_path / "cafe.wav"
    write_wave(Sound(np.zeros((2, 44_100), dtype=np.float32), 44_100), path)
    title = b"INAM" + (6).to_bytes(4, "little") + "Café".encode("latin-1") + b"\0\0"
    content = path.read_bytes() + b"LIST" + (4 + len(title)).to_bytes(4, "little") + b"INFO" + title
    path.write_bytes(content[:4] + (len(content) - 8).to_bytes(4, "little") + content[8:])
    assert read_sound(path).samples.shape[1] == 48_000
