import random
from contextlib import suppress
from pathlib import Path

import pytest

from gateleg.apps.rag.chunking import chunk, heading_paths, parse_strategy
from gateleg.apps.rag.errors import (
    DocumentRefused,
    DocumentTooLarge,
    EmptyDocument,
    EncryptedDocument,
    UnreadableDocument,
    UnsupportedDocument,
)
from gateleg.apps.rag.parsing import ParseBounds, ParsedDocument
from gateleg.apps.rag.parsing.language import guess_language
from gateleg.apps.rag.parsing.parser import parse_here
from gateleg.apps.rag.parsing.plain import decode_text
from gateleg.apps.rag.parsing.row_text import row_lines
from tests.apps.rag.parsing import samples


def parsed(folder: Path, content: bytes, name: str = "file", bounds: ParseBounds | None = None) -> ParsedDocument:
    path = folder / "content"
    path.write_bytes(content)
    return parse_here(path, name, bounds)


def test_a_pdf_keeps_its_pages_and_the_boxes_of_its_lines(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.pdf([["The first page", "has two lines."], ["The second page."]], title="A report"), "report.txt")
    assert (found.content_type, found.title) == ("application/pdf", "A report")
    assert [(page.number, found.text[page.start : page.end].strip()) for page in found.pages] == [
        (1, "The first page\nhas two lines."),
        (2, "The second page."),
    ]
    assert [found.text[line.start : line.end] for line in found.lines] == ["The first page", "has two lines.", "The second page."]
    start = found.text.index("has two")
    assert (found.page_of(start), found.page_of(found.text.index("second"))) == (1, 2)
    boxes = found.boxes_of(start, start + 5)
    assert boxes is not None
    ((page, left, top, right, bottom),) = boxes
    assert page == 1
    assert 70 < left < 75
    assert 75 < top < bottom < 96
    assert 130 < right < 180


def test_every_chunk_of_a_pdf_has_a_page_and_its_boxes(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.pdf([[f"Line {number} of page {page} has words." for number in range(20)] for page in range(3)]))
    spans = chunk(found.text, parse_strategy({"type": "FIXED", "chunkSize": 200, "chunkOverlap": 0}))
    assert {found.page_of(span.start) for span in spans} == {1, 2, 3}
    assert all(found.boxes_of(span.start, span.end) for span in spans)


def test_pdfs_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    with pytest.raises(EncryptedDocument, match="password"):
        parsed(tmp_path, samples.pdf([["secret"]], encrypted=True))
    with pytest.raises(UnreadableDocument, match="damaged"):
        parsed(tmp_path, b"%PDF-1.7 and nothing else")
    with pytest.raises(EmptyDocument):
        parsed(tmp_path, samples.pdf([[]]))
    with pytest.raises(DocumentTooLarge, match="20 pages"):
        parsed(tmp_path, samples.pdf([["x"]] * 20), bounds=ParseBounds(pages=10))


def test_a_page_tree_that_is_a_circle_ends(tmp_path: Path) -> None:
    with pytest.raises((UnreadableDocument, EmptyDocument)):
        parsed(tmp_path, samples.pdf([["x"]] * 3, kids="2 0 R 2 0 R 2 0 R"))


def test_a_docx_keeps_headings_and_tables(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.docx_file())
    assert found.title == "Handbook"
    assert "thirty days of leave" in found.text
    assert "Country: France; Days: 25" in found.text
    assert heading_paths(found.headings, [found.text.index("Call before")]) == ["Leave > Sickness"]


def test_a_docx_is_read_with_its_tracked_changes_accepted(tmp_path: Path) -> None:
    text = parsed(tmp_path, samples.edited_docx_file()).text
    assert "The fee is 200 EUR per month." in text
    assert "100 EUR" not in text


def test_content_controls_text_boxes_and_footnotes_of_a_docx_are_read(tmp_path: Path) -> None:
    text = parsed(tmp_path, samples.edited_docx_file()).text
    assert "Filled into a form" in text
    assert text.count("Written in a box") == 1
    assert "Footnote 1: Without tax" in text


def test_cells_beside_a_merged_one_keep_their_columns(tmp_path: Path) -> None:
    assert "Name: North and South; Total: 7" in parsed(tmp_path, samples.edited_docx_file()).text


def test_slides_are_pages_with_their_notes(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.pptx_file())
    assert [page.number for page in found.pages] == [1, 2]
    assert found.page_of(found.text.index("Notes: Mention the storm")) == 2
    assert [heading.title for heading in found.headings] == ["Plans", "Risks"]


def test_rows_of_a_spreadsheet_name_their_columns(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.xlsx_file())
    assert "Fruit: Apple; Price: 3\nFruit: Pear; Price: 4.5\n" in found.text
    assert [heading.title for heading in found.headings] == ["Prices", "Notes"]
    assert found.page_of(found.text.index("only one cell")) == 2


def test_columns_are_named_below_a_title_and_in_each_table_of_a_sheet() -> None:
    rows = [["Sales 2025"], ["", ""], ["Region", "Units", "Total"], ["North", "12", "120"], [], ["South", "7", "70"], [], ["Share", "0.25"]]
    below = [[], ["City", "", "", "", "People"], ["Oslo", "", "", "", "709,000"]]
    assert [line for line in row_lines([*rows, *below]) if line] == [
        "Sales 2025",
        "Region | Units | Total",
        "Region: North; Units: 12; Total: 120",
        "Region: South; Units: 7; Total: 70",
        "Region: Share; Units: 0.25",
        "City |  |  |  | People",
        "City: Oslo; People: 709,000",
    ]


@pytest.mark.parametrize("content", [samples.docx_file(), samples.pptx_file(), samples.xlsx_file()], ids=["docx", "pptx", "xlsx"])
def test_a_damaged_office_file_says_so(content: bytes, tmp_path: Path) -> None:
    half = content[: len(content) // 2] + content[-400:]
    with pytest.raises(UnreadableDocument, match="damaged"):
        parsed(tmp_path, half)


def test_an_office_file_that_unpacks_to_very_much_is_not_unpacked(tmp_path: Path) -> None:
    with pytest.raises(DocumentTooLarge, match="unpacks to"):
        parsed(tmp_path, samples.bomb(210_000_000))


def test_a_page_loses_its_navigation_and_keeps_its_structure(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.HTML, "page.txt")
    assert (found.content_type, found.title, found.language) == ("text/html", "Ships & harbours", "en")
    assert found.text == (
        "Ships\n\nShips sail far.\n\n- One mast\n- Two masts\nShip | Year\nShip: Vasa; Year: 1628\n\n"
        "def sail():\n    pass\n\nHarbours\n\nRotterdam.\n\n"
    )
    assert heading_paths(found.headings, [found.text.index("Rotterdam")]) == ["Ships > Harbours"]


def test_the_article_of_a_page_that_does_not_mark_it_is_found(tmp_path: Path) -> None:
    body = "".join(f"<p>Paragraph {number} tells more about the long history of the harbour and its ships.</p>" for number in range(12))
    menu = "".join(f'<li><a href="/{number}">Menu entry {number}</a></li>' for number in range(30))
    page = f"<html><body><div class='menu'><ul>{menu}</ul></div><div id='content'><h1>History</h1>{body}</div></body></html>"
    found = parsed(tmp_path, page.encode())
    assert "Paragraph 7 tells" in found.text
    assert "Menu entry 3" not in found.text


def test_what_a_page_does_not_show_is_not_read(tmp_path: Path) -> None:
    hidden = '<p style="display: none">unseen one</p><div hidden>unseen two</div><span style="VISIBILITY:hidden">unseen three</span>'
    text = parsed(tmp_path, f"<html><body><p>seen</p>{hidden}<p style='color: red'>also seen</p></body></html>".encode()).text
    assert text.split() == ["seen", "also", "seen"]


def test_a_page_that_is_nested_very_deeply_is_read(tmp_path: Path) -> None:
    assert "deep" in parsed(tmp_path, b"<html><main>" + b"<div>" * 5_000 + b"deep" + b"</div>" * 5_000 + b"</main></html>").text


def test_a_message_is_read_with_its_attachments(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.message())
    assert (found.title, found.properties["from"]) == ("The tides", "Ada <ada@example.org>")
    assert "High water is at noon." in found.text
    assert "Country: France; Days: 25" in found.text
    assert "The harbour is closed." in found.text
    assert found.warnings == ("blob.bin was skipped: Files of the type application/octet-stream are not supported.",)
    assert heading_paths(found.headings, [found.text.index("thirty days")]) == ["The tides > Attachment: handbook.docx > Leave"]


def test_rich_text_is_its_text(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.RTF)
    assert found.text == "Café €5 bold\n\nSecond {line}\n\nA | B | \n😀 end\n"
    with pytest.raises(UnreadableDocument, match="nested too deeply"):
        parsed(tmp_path, b"{\\rtf1 " + b"{" * 3_000)


def test_markdown_has_its_headings_and_its_title(tmp_path: Path) -> None:
    found = parsed(tmp_path, b"---\ntitle: 'The guide'\n---\n# One\n\ntext\n\n## Two\n\nmore\n", "guide.md")
    assert (found.title, found.content_type) == ("The guide", "text/markdown")
    assert [(heading.level, found.text[heading.start :].splitlines()[0]) for heading in found.headings] == [(1, "# One"), (2, "## Two")]


def test_definitions_are_the_headings_of_code(tmp_path: Path) -> None:
    found = parsed(tmp_path, b"import os\n\n\nclass Ship:\n    def sail(self): ...\n\n\nasync def moor() -> None: ...\n", "ship.py")
    assert found.content_type == "text/x-python"
    assert [heading.title for heading in found.headings] == ["Ship", "moor"]


def test_tables_and_json_are_read_by_row(tmp_path: Path) -> None:
    assert "name: Ada; born: 1815" in parsed(tmp_path, b"name;born\nAda;1815\nAlan;1912\n", "people").text
    assert parsed(tmp_path, b'[{"name": "Ada", "tags": ["a", "b"], "at": {"x": 1}}, {"name": "Alan"}]').text == (
        "name: Ada\ntags: a, b\nat.x: 1\n\nname: Alan\n\n"
    )
    assert parsed(tmp_path, b'{"a": 1}\n{"a": 2}\n', "log.jsonl").text == "a: 1\n\na: 2\n\n"
    assert "x & y" in parsed(tmp_path, b"<?xml version='1.0'?><r><a>x &amp; y</a></r>").text


def test_a_table_is_known_by_its_name_where_its_content_does_not_show_it(tmp_path: Path) -> None:
    content = 'Name;Ort;Betrag\n"Müller; Söhne";Köln;1.234,50\n"Zwei\nZeilen";Bonn;5\n'.encode("utf-8-sig")
    assert (
        "Name: Müller; Söhne; Ort: Köln; Betrag: 1.234,50\nName: Zwei Zeilen; Ort: Bonn; Betrag: 5\n"
        in parsed(tmp_path, content, "kunden.csv").text
    )


@pytest.mark.parametrize(
    ("content", "name", "said"),
    [
        (b'{"a": 1}\n{"a": 2}\nno json\n', "rows.jsonl", "Line 3 is not"),
        (b"[" * 100_000 + b"]" * 100_000, "deep.json", "nested too deeply"),
        (b"PK\x03\x04 and nothing else", "contract.docx", "the extension of a Word document"),
    ],
)
def test_files_that_cannot_be_read_say_where_or_why(tmp_path: Path, content: bytes, name: str, said: str) -> None:
    with pytest.raises(UnreadableDocument, match=said):
        parsed(tmp_path, content, name)


def test_a_picture_of_very_many_pixels_is_not_decoded(tmp_path: Path) -> None:
    with pytest.raises(DocumentTooLarge, match="more than 100 million pixels"):
        parsed(tmp_path, samples.blank_picture(15_000, 15_000), "huge.png")


def test_entities_of_xml_are_not_resolved(tmp_path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 10))
    content = f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY l0 "ha">{laughs}]><r>fine &l9;</r>'
    assert len(parsed(tmp_path, content.encode()).text) < 100


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"])
def test_texts_are_read_in_their_encoding(encoding: str) -> None:
    assert decode_text("Grüße – naïve café".encode(encoding))[0] == "Grüße – naïve café"


def test_one_damaged_letter_does_not_change_the_encoding() -> None:
    assert decode_text("é".encode() * 50 + b"\xff" + "ü".encode() * 50)[0] == "é" * 50 + "\ufffd" + "ü" * 50


def test_an_office_document_with_a_password_says_so(tmp_path: Path) -> None:
    with pytest.raises(EncryptedDocument):
        parsed(tmp_path, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(600))


def test_damaged_files_are_read_or_refused_and_nothing_else(tmp_path: Path) -> None:
    chance = random.Random(5)
    for content in (samples.docx_file(), samples.pptx_file(), samples.xlsx_file(), samples.message(), samples.RTF, samples.HTML):
        for _ in range(5):
            damaged = bytearray(content[: chance.randrange(len(content) // 2, len(content))])
            for _ in range(chance.randint(0, 20)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
            with suppress(DocumentRefused):
                parsed(tmp_path, bytes(damaged))


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for content in (b"\x00\x01\x02" * 100, b"PK\x03\x04" + bytes(100), b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)):
        with pytest.raises(UnsupportedDocument):
            parsed(tmp_path, content)
    for content in (b"", b"  \n "):
        with pytest.raises(EmptyDocument):
            parsed(tmp_path, content)
    with pytest.raises(DocumentTooLarge, match="1,000 characters"):
        parsed(tmp_path, b"word " * 300, bounds=ParseBounds(characters=1_000))


def test_a_language_is_told_by_its_small_words() -> None:
    assert guess_language("The ship is in the harbour and that is the end of it, which was not known.") == "en"
    assert guess_language("Das Schiff ist nicht in der Stadt und die Leute sind mit ihm auf dem Weg zu der Insel.") == "de"
    assert guess_language("x y z 1 2 3") is None


def test_a_document_survives_json(tmp_path: Path) -> None:
    found = parsed(tmp_path, samples.pdf([["one"], ["two"]]))
    assert ParsedDocument.from_json(found.to_json()) == found
