"""The studio of the music video application beside its peers.

    .venv/bin/python bench/mv.py                frames a second, and beats
    .venv/bin/python bench/mv.py beats          beats only
    .venv/bin/python bench/mv.py frames         frames only

Frames: processor time for a frame of three scenes at 720p and 480p, beside a plain encode of frames of the same size (the limit: nothing
is drawn), and the time to join ten clips with a song, beside MoviePy (which decodes and encodes them again).
Beats: the share of reported beats within 60 ms of a true one, and the share of true beats found, on tracks whose beats are known,
beside librosa and aubio. A tracker that follows every second beat exactly has a precision of 1 and a recall of 0.5.

Peers live in environments of their own in `.bench/`; one that cannot be installed is named and left out.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gateleg.ai import Models
from gateleg.apps.mv.composing.assembly import compose
from gateleg.apps.mv.composing.clips import ClipOrder, frames_of
from gateleg.apps.mv.composing.encoding import DRAFT, HD, Canvas, ClipWriter
from gateleg.apps.mv.drawing.looks import open_library
from gateleg.apps.mv.drawing.scene import Scene
from gateleg.apps.mv.listening.song import Song, analyse_sound
from gateleg.apps.mv.listening.sound import Sound, write_wave
from gateleg.apps.mv.music import synthesise_song
from gateleg.apps.mv.planning.presets import find_preset

HERE = Path(__file__).parent
HOME = HERE.parent / ".bench"
sys.path.insert(0, str(HERE.parent))

from tests.apps.mv.tracks import RATE, band, breathing, steady  # noqa: E402

SENTENCES = ("a silver robot walks through Austin at night", "Red desert at noon", "blue ocean under stars")
FRAMES = 36

MOVIEPY = """
import sys, time
from moviepy import AudioFileClip, VideoFileClip, concatenate_videoclips
*clips, song, out = sys.argv[1:]
begun = time.perf_counter()
joined = concatenate_videoclips([VideoFileClip(clip) for clip in clips])
joined = joined.with_audio(AudioFileClip(song).with_duration(joined.duration))
joined.write_videofile(out, codec="libx264", audio_codec="aac", preset="veryfast", logger=None)
print(time.perf_counter() - begun)
"""
LIBROSA = """
import json, sys, librosa
out = {}
for path in sys.argv[1:]:
    samples, rate = librosa.load(path, sr=22050)
    out[path] = [float(t) for t in librosa.beat.beat_track(y=samples, sr=rate, units="time")[1]]
print(json.dumps(out))
"""
AUBIO = """
import json, sys, aubio
out = {}
for path in sys.argv[1:]:
    source = aubio.source(path, 44100, 512)
    tempo = aubio.tempo("default", 1024, 512, 44100)
    out[path] = []
    while True:
        samples, read = source()
        if tempo(samples):
            out[path].append(float(tempo.get_last_s()))
        if read < 512:
            break
print(json.dumps(out))
"""


def environment(name: str, *packages: str) -> Path | None:
    """The interpreter of a peer's own environment, made when it is missing; None when the peer cannot be had."""
    home = HOME / name
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    ready = home / ".ready"
    if not ready.exists():
        done = subprocess.run([str(python), "-m", "pip", "install", "-q", *packages], capture_output=True, text=True, check=False)
        if done.returncode:
            print(f"{name}: cannot be installed here, left out")
            return None
        ready.touch()
    return python


def peer(name: str, packages: tuple[str, ...], program: str, *arguments: str) -> str | None:
    """What a program prints in a peer's environment."""
    python = environment(name, *packages)
    if python is None:
        return None
    done = subprocess.run([str(python), "-c", program, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name}: failed, left out: {done.stderr.strip().splitlines()[-1][:160] if done.stderr.strip() else ''}")
        return None
    return done.stdout


def timed(work: Callable[[], int]) -> float:
    """Milliseconds of processor time for a frame."""
    begun = time.process_time()
    count = work()
    return (time.process_time() - begun) * 1000 / count


def written(frames: Any, canvas: Canvas, path: Path) -> int:
    with ClipWriter(path, canvas) as writer:
        for frame in frames:
            writer.write_frame(frame)
    return writer.count


def bench_frames(folder: Path, song: Song) -> None:
    with Models() as models:
        library = open_library(models.embeddings().embed)
        looks = [library.choose(sentence) for sentence in SENTENCES]
    for canvas, name in ((HD, "720p"), (DRAFT, "480p")):
        for sentence, look in zip(SENTENCES, looks, strict=True):
            scene = Scene(look, "medium", "push", 240, FRAMES, 0.7, 0.8, 0.1, 3, find_preset("clean"))
            order = ClipOrder(scene, canvas)
            kept = list(frames_of(order, song))
            drawn = timed(lambda order=order, canvas=canvas: written(frames_of(order, song), canvas, folder / "a.mp4"))  # type: ignore[misc]
            plain = timed(lambda kept=kept, canvas=canvas: written(kept, canvas, folder / "b.mp4"))  # type: ignore[misc]
            whole = drawn * canvas.fps / 2 / 1000
            print(f"{name}  {sentence:45s} {drawn:6.1f} ms a frame, plain encode {plain:5.1f} ms ({drawn / plain:.1f}x)", end="; ")
            print(f"{whole:.2f}x the song's length on two quiet cores")
    clips = []
    for number in range(10):
        clips.append(folder / f"{number}.mp4")
        written(kept, DRAFT, clips[-1])
    begun = time.perf_counter()
    compose(clips, None, folder / "out.mp4", DRAFT)
    joined = time.perf_counter() - begun
    begun = time.perf_counter()
    compose(clips, folder / "song.wav", folder / "out.mp4", DRAFT)
    ours = time.perf_counter() - begun
    answer = peer("moviepy", ("moviepy",), MOVIEPY, *map(str, clips), str(folder / "song.wav"), str(folder / "moviepy.mp4"))
    theirs = f"MoviePy {float(answer):.2f} s ({float(answer) / ours:.1f}x)" if answer else "MoviePy left out"
    print(f"joining 10 clips of {FRAMES} frames at 480p here {joined:.2f} s; with the song, mastered and measured, {ours:.2f} s; {theirs}")


def tracks() -> dict[str, tuple[Any, Any]]:
    """Tracks and their beats; none of these was used to tune the tracker."""
    made: dict[str, tuple[Any, Any]] = {}
    for number, tempo in enumerate((84, 101, 127, 143)):
        beats = steady(tempo, 30, 0.2 + 0.07 * number)
        made[f"straight {tempo}"] = (band(beats, 30, seed=20 + number), beats)
    for tempo, swing in ((92, 0.63), (121, 0.67)):
        beats = steady(tempo, 30)
        made[f"swing {tempo}"] = (band(beats, 30, swing=swing, seed=31), beats)
    for tempo in (132, 156):
        beats = steady(tempo, 30)
        made[f"half-time {tempo}"] = (band(beats, 30, half=True, seed=41), beats)
    for tempo, depth in ((105, 0.06), (118, 0.1)):
        beats = breathing(tempo, 40, depth, 0.06)
        made[f"rubato {tempo}"] = (band(beats, 40, seed=51), beats)
    for tempo in (99, 126):
        beats = steady(tempo, 36)
        made[f"cymbals first {tempo}"] = (band(beats, 36, cymbals_until=11, seed=61), beats)
    return made


def scores(found: Any, beats: Any) -> tuple[float, float]:
    found = np.asarray(found)
    if not len(found):
        return 0.0, 0.0
    precision = np.mean([np.abs(beats - time).min() < 0.06 for time in found])
    recall = np.mean([np.abs(found - time).min() < 0.06 for time in beats])
    return float(precision), float(recall)


def bench_beats(folder: Path) -> None:
    made = tracks()
    paths, ours = {}, {}
    begun = time.process_time()
    for name, (samples, _) in made.items():
        sound = Sound(samples[None].astype(np.float32) * np.float32(0.5), RATE)
        paths[name] = folder / f"{name.replace(' ', '-')}.wav"
        write_wave(sound, paths[name])
        ours[name] = analyse_sound(sound).beats
    print(f"ours: {(time.process_time() - begun) / len(made):.2f} s of processor time for a track")
    answers: dict[str, dict[str, Any]] = {}
    for name, packages, program in (("librosa", ("librosa",), LIBROSA), ("aubio", ("aubio-ledfx",), AUBIO)):
        text = peer(name, packages, program, *map(str, paths.values()))
        if text:
            answers[name] = json.loads(text)
    print(f"{'track':20s} {'ours':>12s}" + "".join(f" {name:>12s}" for name in answers) + "    precision / recall within 60 ms")
    for name, (_, beats) in made.items():
        row = [scores(ours[name], beats), *(scores(answer[str(paths[name])], beats) for answer in answers.values())]
        print(f"{name:20s}" + "".join(f"  {precision:.2f} / {recall:.2f}" for precision, recall in row))


def main() -> None:
    wanted = sys.argv[1:] or ["frames", "beats"]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if "frames" in wanted:
            demo = synthesise_song(30.0)
            write_wave(demo.sound, folder / "song.wav")
            bench_frames(folder, analyse_sound(demo.sound))
        if "beats" in wanted:
            bench_beats(folder)


if __name__ == "__main__":
    main()
