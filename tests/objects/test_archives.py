"""Archives are unpacked within limits, and only into their folder."""

import io
import zipfile
from pathlib import Path

import pytest

from gateleg.objects import ArchiveRefused, ArchiveTooLarge
from gateleg.objects.archives import ArchiveBounds, plain_name, unpack


def archive(tmp_path: Path, entries: dict[str, bytes], mode: int = zipfile.ZIP_DEFLATED) -> Path:
    path = tmp_path / "sent.zip"
    with zipfile.ZipFile(path, "w", mode) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return path


def packed(entries: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return buffer.getvalue()


def test_files_keep_their_names_and_paths_do_not_lead_out(tmp_path: Path) -> None:
    path = archive(tmp_path, {"a/votes.csv": b"1", "b/votes.csv": b"2", "../../etc/passwd": b"3", "/abs": b"4", "c:\\x\\y.txt": b"5"})
    found = unpack(path, tmp_path / "out")
    assert [one.path.name for one in found] == ["votes.csv", "votes.csv", "passwd", "abs", "y.txt"]
    assert [one.path.read_bytes() for one in found] == [b"1", b"2", b"3", b"4", b"5"]
    assert all((tmp_path / "out") in one.path.resolve().parents for one in found)


def test_only_wanted_files_are_unpacked_and_every_chunk_is_reported(tmp_path: Path) -> None:
    chunks: list[tuple[str, bytes]] = []
    path = archive(tmp_path, {"a.csv": b"1", "b.txt": b"2", "d/": b""})
    found = unpack(
        path, tmp_path / "out", wanted=lambda name: name.endswith(".csv"), on_chunk=lambda path, chunk: chunks.append((path.name, chunk))
    )
    assert [one.name for one in found] == ["a.csv"]
    assert chunks == [("a.csv", b"1")]


def test_a_bomb_is_refused_while_it_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path, {"zeros": b"\0" * 30_000_000})
    with pytest.raises(ArchiveTooLarge, match="100 times"):
        unpack(path, tmp_path / "out")
    written = sum(one.stat().st_size for one in (tmp_path / "out").rglob("*") if one.is_file())
    assert written <= 11_000_000


def test_sizes_and_counts_are_bounded_over_all_files(tmp_path: Path) -> None:
    path = archive(tmp_path, {str(number): b"x" * 100 for number in range(5)}, zipfile.ZIP_STORED)
    with pytest.raises(ArchiveTooLarge, match="more than 4 files"):
        unpack(path, tmp_path / "a", ArchiveBounds(files=4))
    with pytest.raises(ArchiveTooLarge, match="450 bytes"):
        unpack(path, tmp_path / "b", ArchiveBounds(size=450))


def test_archives_within_count_to_the_same_bounds(tmp_path: Path) -> None:
    inner = packed({"deep.txt": b"x" * 100})
    path = archive(tmp_path, {"in.zip": packed({"again.zip": inner, "mid.txt": b"y"}), "top.txt": b"z"})
    assert [one.name for one in unpack(path, tmp_path / "0")] == ["in.zip", "top.txt"]
    assert [one.name for one in unpack(path, tmp_path / "1", ArchiveBounds(depth=1))] == ["in.zip/again.zip", "in.zip/mid.txt", "top.txt"]
    assert next(one.name for one in unpack(path, tmp_path / "2", ArchiveBounds(depth=2))) == "in.zip/again.zip/deep.txt"
    with pytest.raises(ArchiveTooLarge):
        unpack(path, tmp_path / "3", ArchiveBounds(depth=2, files=4))


def test_links_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "sent.zip"
    entry = zipfile.ZipInfo("link")
    entry.external_attr = 0o120777 << 16
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(entry, "/etc/passwd")
    assert unpack(path, tmp_path / "out") == []


@pytest.mark.parametrize("content", [b"PK\x03\x04 but nothing more", b"not an archive"])
def test_damaged_archives_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sent.zip"
    path.write_bytes(content)
    with pytest.raises(ArchiveRefused, match="cannot be unpacked"):
        unpack(path, tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("song.mp3", "song.mp3"),
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\ä b.txt", "ä b.txt"),
        (".hidden", "hidden"),
        ("..", "file"),
        ("", "file"),
        ("a\0b\n.txt", "a_b_.txt"),
        ("con:x?.txt. ", "con_x_.txt"),
        ("x" * 300 + ".txt", "x" * 96 + ".txt"),
    ],
)
def test_names_are_made_safe(name: str, plain: str) -> None:
    assert plain_name(name) == plain
