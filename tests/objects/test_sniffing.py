"""Media types are detected by content."""

import io
import struct
import wave
import zipfile
from pathlib import Path

import pytest

from gateleg.objects.sniffing import HEAD, TYPES, sniff, sniff_file
from tests.attack_strings import grows_steeply


def wav() -> bytes:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"\0\0" * 10)
    return buffer.getvalue()


def zipped(*names: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


def boxed(brand: bytes) -> bytes:
    return struct.pack(">I", 20) + b"ftyp" + brand + b"\0\0\0\0isom" + b"\0" * 50


OOXML = "application/vnd.openxmlformats-officedocument."
SAMPLES = {
    "mp3 with a tag": (b"ID3\x04\0\0\0\0\0\0", "audio/mpeg"),
    "mp3 without": (b"\xff\xfb\x90\x64" + b"\0" * 100, "audio/mpeg"),
    "wav": (wav(), "audio/wav"),
    "flac": (b"fLaC\0\0\0\x22", "audio/flac"),
    "ogg": (b"OggS\0\x02" + b"\0" * 20 + b"\x01vorbis", "audio/ogg"),
    "theora": (b"OggS\0\x02" + b"\0" * 22 + b"\x80theora", "video/ogg"),
    "m4a": (boxed(b"M4A "), "audio/mp4"),
    "mp4": (boxed(b"isom"), "video/mp4"),
    "mov": (boxed(b"qt  "), "video/quicktime"),
    "old mov": (struct.pack(">I", 8) + b"wide" + struct.pack(">I", 100) + b"mdat", "video/quicktime"),
    "webm": (b"\x1aE\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm", "video/webm"),
    "mkv": (b"\x1aE\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x88matroska", "video/x-matroska"),
    "png": (b"\x89PNG\r\n\x1a\n\0\0", "image/png"),
    "jpeg": (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
    "webp": (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
    "gif": (b"GIF89a\x01\0", "image/gif"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3", "application/pdf"),
    "docx": (zipped("[Content_Types].xml", "_rels/.rels", "word/document.xml"), f"{OOXML}wordprocessingml.document"),
    "xlsx": (zipped("[Content_Types].xml", "xl/workbook.xml"), f"{OOXML}spreadsheetml.sheet"),
    "pptx": (zipped("[Content_Types].xml", "ppt/presentation.xml"), f"{OOXML}presentationml.presentation"),
    "zip": (zipped("word/notes.txt", "b.txt"), "application/zip"),
    "empty zip": (zipped(), "application/zip"),
    "html": (b"<!-- hi -->\n<!DOCTYPE html><html>", "text/html"),
    "html without a doctype": (b"\xef\xbb\xbf  <html lang='de'><body>", "text/html"),
    "svg": (b'<?xml version="1.0"?><svg xmlns="x">', "image/svg+xml"),
    "xml": (b'<?xml version="1.0"?><feed>', "application/xml"),
    "text": ("Grüße, aus Köln.\nNoch eine Zeile".encode(), "text/plain"),
    "text in latin-1": ("Grüße aus Köln, und mehr Text".encode("latin-1"), "text/plain"),
    "text in utf-16": ("Grüße aus Köln".encode("utf-16"), "text/plain"),
    "csv": (b'id,name,text\n1,a,"x, y"\n2,b,z\n', "text/csv"),
    "csv with semicolons": (b"id;name\n1;a\n2;b", "text/csv"),
    "json": (b' {"a": [1, 2]}', "application/json"),
    "json array": (b"[1, 2]", "application/json"),
    "no json": (b"[draft] a note", "text/plain"),
    "eml": (b"Received: from a\r\n by b\r\nFrom: x@example.com\r\nSubject: hi\r\n\r\ntext", "message/rfc822"),
    "rtf": (b"{\\rtf1\\ansi", "application/rtf"),
    "a program": (b"\x7fELF\x02\x01\x01\0", "application/octet-stream"),
    "nothing": (b"", "text/plain"),
    "noise": (bytes(range(256)), "application/octet-stream"),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_content_is_detected_by_its_bytes(name: str, tmp_path: Path) -> None:
    content, kind = SAMPLES[name]
    assert sniff(content[:HEAD]) == kind
    (tmp_path / "song.mp3").write_bytes(content)
    assert sniff_file(tmp_path / "song.mp3") == kind
    assert kind in TYPES | {"application/octet-stream"}


def test_an_office_document_is_detected_by_names_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(zipped(*(f"media/picture-{number:05}.png" for number in range(200)), "[Content_Types].xml", "word/document.xml"))
    assert sniff(path.read_bytes()[:HEAD]) == "application/zip"
    assert sniff_file(path) == f"{OOXML}wordprocessingml.document"


def test_a_truncated_character_at_the_end_of_the_head_is_still_text() -> None:
    assert sniff(("ü" * HEAD).encode()[1 : HEAD + 1][1:]) == "text/plain"
    assert sniff(b"x" + ("ü" * HEAD).encode()[: HEAD - 1]) == "text/plain"


def test_a_large_json_is_detected_by_its_beginning() -> None:
    assert sniff(b'{"text": "' + b"x" * HEAD) == "application/json"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b"<!-- a --><!-- b -->\n <p>", "text/html"),
        (b"<!---->" * 500 + b"<body>", "text/html"),
        (b"<!---->" * 500 + b"x", "text/plain"),
        (b"<!-- never closed <html>", "text/plain"),
        (b"<!-- a --> text --> <html>", "text/plain"),
    ],
)
def test_comments_before_a_page_are_skipped(text: bytes, kind: str) -> None:
    assert sniff(text) == kind


@pytest.mark.parametrize("unit", [b"<!---->", b"<!-- ", b"--> ", b" ", b"From: a\r\n ", b'"a",', b"[{", b"\\", b"\n"])
def test_the_time_grows_with_the_length_only(unit: bytes) -> None:
    assert not grows_steeply(lambda length: lambda: sniff(unit * (length // len(unit)) + b"x"))
