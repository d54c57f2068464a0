"""`gateleg mv`, from the command line."""

import json
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

from gateleg.apps.mv import commands
from gateleg.apps.mv.listening.sound import write_wave
from gateleg.apps.mv.music import synthesise_song

pytest.importorskip("skia")


@pytest.fixture
def song(tmp_path: Path) -> Path:
    write_wave(synthesise_song(5.0, tempo=120.0).sound, tmp_path / "song.wav")
    return tmp_path / "song.wav"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_DRAFT", 96)


def run(*words: object) -> Result:
    return CliRunner().invoke(commands.app, [str(word) for word in words])


def test_song_and_sentence_become_a_video(song: Path, tmp_path: Path) -> None:
    import av

    out = tmp_path / "out.mp4"
    made = run("new", song, "a red desert at noon", "-o", out, "--draft", "--workers", 1, "--title", "Noon", "--aspect", "9:16")
    assert made.exit_code == 0, made.output
    assert "120 BPM" in made.stdout
    with av.open(str(out)) as container:
        video = container.streams.video[0]
        assert (video.width, video.height) == (96, 170)
        assert container.duration is not None
        assert abs(container.duration / av.time_base - 9.0) < 0.1
    assert {path.name for path in tmp_path.iterdir()} == {"song.wav", "out.mp4"}


def test_storyboard_has_a_picture_of_each_scene(tmp_path: Path) -> None:
    out = tmp_path / "board.png"
    made = run("storyboard", "--demo-song", "--demo-seconds", 8, "a boat on the sea", "-o", out, "--director", "neon-noir")
    assert made.exit_code == 0, made.output
    count = int(made.stdout.split(": ")[-1].split(" ")[0])
    assert made.stdout.count("boat on the sea") == count > 0
    with Image.open(out) as sheet:
        assert sheet.width == 4 * 480


def test_listen_says_what_is_heard(song: Path) -> None:
    told = run("listen", song)
    assert "120 BPM" in told.stdout
    assert "LUFS" in told.stdout
    assert json.loads(run("listen", song, "--json").stdout)["meter"] == 4


def test_directors_are_listed() -> None:
    from gateleg.apps.mv.planning.presets import PRESETS

    told = run("directors").stdout.splitlines()
    assert [line.split()[0] for line in told] == list(PRESETS)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("new", "a sentence"), "give a song and a sentence"),
        (("new", "--demo-song", "song.mp3", "a sentence"), "give one sentence"),
        (("new", "none.mp3", "a sentence"), "the song none.mp3 does not exist"),
        (("new", "--demo-song", " "), "the sentence is empty"),
        (("new", "--demo-song", "a sentence", "-o", "out.gif"), "must end in .mp4"),
        (("new", "--demo-song", "a sentence", "-o", "nowhere/out.mp4"), "the folder nowhere does not exist"),
        (("new", "--demo-song", "a sentence", "--director", "nobody"), "There is no director preset 'nobody'"),
        (("new", "--demo-song", "a sentence", "--picture", "none.png"), "the picture none.png does not exist"),
        (("listen", "none.mp3"), "the song none.mp3 does not exist"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(words: tuple[str, ...], reason: str) -> None:
    told = run(*words)
    assert told.exit_code == 1
    assert reason in told.stderr


def test_a_file_without_sound_is_refused(tmp_path: Path) -> None:
    (tmp_path / "song.mp3").write_bytes(b"no song at all")
    told = run("new", tmp_path / "song.mp3", "a sentence", "-o", tmp_path / "out.mp4")
    assert told.exit_code == 1
    assert "song.mp3 cannot be decoded" in told.stderr
