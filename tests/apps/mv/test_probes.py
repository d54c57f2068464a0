"""Files that were made to cost much or to break a decoder: refused cheaply, in a process of their own."""

import random
import struct
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from gateleg.apps.mv.errors import MusicVideoError, SongTooLong, UnreadableClip, UnreadablePicture, UnreadableSong
from gateleg.apps.mv.probes import Bounds, Kind, probe, probe_in_process
from tests.apps.mv.served import Served, serving

pytest.importorskip("skia")
BOUNDS = Bounds(longest=60.0)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import numpy as np

    from gateleg.apps.mv.composing.encoding import Canvas, ClipWriter

    path = tmp_path_factory.mktemp("clip") / "own.mp4"
    with ClipWriter(path, Canvas(64, 36, 12)) as writer:
        for number in range(24):
            writer.write(np.full((36, 64, 4), number * 10, dtype=np.uint8))
    return path


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as served:
        yield served


async def test_a_clip_is_looked_into_by_another_process(clip: Path) -> None:
    facts = await probe(clip, "video", BOUNDS)
    assert (facts.width, facts.height, round(facts.seconds, 1)) == (64, 36, 2.0)


async def test_a_process_that_ends_without_an_answer_is_the_file_s_fault(clip: Path) -> None:
    with pytest.raises(UnreadableClip, match="memory") as refused:
        await probe(clip, "video", Bounds(60.0, memory=1))
    assert str(clip.parent) not in str(refused.value)


async def test_looking_ends_in_time(clip: Path) -> None:
    with pytest.raises(UnreadableClip, match="could not be read within"):
        await probe(clip, "video", Bounds(60.0, seconds=0.01))


def test_length_and_shape_have_bounds(clip: Path, tmp_path: Path) -> None:
    from gateleg.apps.mv.listening.sound import write_wave
    from gateleg.apps.mv.music import synthesise_song

    with pytest.raises(UnreadableClip, match="must be"):
        probe_in_process(clip, "video", Bounds(longest=1.0))
    write_wave(synthesise_song(5.0).sound, tmp_path / "song.wav")
    with pytest.raises(SongTooLong):
        probe_in_process(tmp_path / "song.wav", "audio", Bounds(longest=1.0))
    with pytest.raises(UnreadableSong, match="no audio track"):
        probe_in_process(clip, "audio", BOUNDS)


def test_a_picture_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path: Path) -> None:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0))
    (tmp_path / "bomb.png").write_bytes(b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(100_000))) + chunk(b"IEND", b""))
    with pytest.raises(UnreadablePicture):
        probe_in_process(tmp_path / "bomb.png", "picture", BOUNDS)


def test_damaged_files_are_refused_or_read_and_nothing_else(clip: Path, tmp_path: Path) -> None:
    whole, chance = clip.read_bytes(), random.Random(7)
    damaged = [whole[: len(whole) * part // 10] for part in range(10)]
    for _ in range(30):
        copy = bytearray(whole)
        for _ in range(chance.randint(1, 40)):
            copy[chance.randrange(len(copy))] = chance.randrange(256)
        damaged.append(bytes(copy))
    kinds: tuple[Kind, ...] = ("video", "audio", "picture")
    for number, content in enumerate(damaged):
        path = tmp_path / f"{number}.mp4"
        path.write_bytes(content)
        for kind in kinds:
            with suppress(MusicVideoError):
                probe_in_process(path, kind, BOUNDS)


async def test_own_clip_plays_in_its_scene(served: Served, clip: Path) -> None:
    project = (await served.create())["projectId"]
    owner, where = served["owner"], f"/api/mv/projects/{project}/scenes"
    await owner.post(where, json={"sceneConcept": "mine"})
    kept = await owner.post(f"{where}/1/upload_video", content=clip.read_bytes())
    assert kept.status_code == 200, kept.text
    assert (kept.json()["status"], kept.json()["take"]) == ("completed", 1)
    takes = (await owner.get(f"{where}/1/takes")).json()["items"]
    assert [(take["provider"], round(take["duration"], 1)) for take in takes] == [("upload", 2.0)]
    for wrong in (clip.read_bytes()[:200], b"PK\x03\x04" + bytes(500), b"\0\0\0\x18ftypmp42" + bytes(4000)):
        refused = await owner.post(f"{where}/1/upload_video", content=wrong)
        assert refused.status_code in (415, 422), refused.text
        assert refused.json()["error"]["details"]["fix"]
    assert (await owner.get(f"{where}/1")).json()["take"] == 1
    assert (await owner.post(f"{where}/9/upload_video", content=clip.read_bytes())).status_code == 404
