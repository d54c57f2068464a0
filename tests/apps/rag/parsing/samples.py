"""Small files of every format, made here."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from email.message import EmailMessage
from typing import Any


def pdf(pages: list[list[str]], *, title: str = "", encrypted: bool = False, kids: str | None = None) -> bytes:
    """A PDF with some lines of text on each page, written by hand, so that it can also be wrong."""
    objects: list[bytes] = []

    def add(body: bytes) -> int:
        objects.append(body)
        return len(objects)

    catalog, tree, font, info = (add(b"") for _ in range(4))
    numbers = []
    for lines in pages:
        shown = "".join(f"1 0 0 1 72 {720 - 20 * place} Tm ({line}) Tj " for place, line in enumerate(lines))
        content = f"BT /F1 12 Tf {shown}ET".encode("latin-1")
        stream = add(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        numbers.append(
            add(
                f"<< /Type /Page /Parent {tree} 0 R /MediaBox [0 0 612 792] /Contents {stream} 0 R "
                f"/Resources << /Font << /F1 {font} 0 R >> >> >>".encode()
            )
        )
    objects[catalog - 1] = f"<< /Type /Catalog /Pages {tree} 0 R >>".encode()
    listed = kids or " ".join(f"{number} 0 R" for number in numbers)
    objects[tree - 1] = f"<< /Type /Pages /Count {len(numbers)} /Kids [{listed}] >>".encode()
    objects[font - 1] = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    objects[info - 1] = f"<< /Title ({title}) >>".encode("latin-1")
    out = io.BytesIO()
    out.write(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    lock = f" /Encrypt << /Filter /Standard /V 1 /R 2 /O <{'ab' * 32}> /U <{'cd' * 32}> /P -4 >> /ID [<00> <00>]" if encrypted else ""
    out.write(f"trailer << /Size {len(objects) + 1} /Root {catalog} 0 R /Info {info} 0 R{lock} >>\nstartxref\n{start}\n%%EOF".encode())
    return out.getvalue()


def picture(lines: list[str]) -> Any:
    """A picture of printed lines."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("L", (1000, 120 + 80 * len(lines)), 255)
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(48)
    for number, line in enumerate(lines):
        draw.text((60, 60 + 80 * number), line, fill=0, font=font)
    return image


def scanned_pdf(lines: list[str]) -> bytes:
    out = io.BytesIO()
    picture(lines).save(out, "PDF", resolution=110)
    return out.getvalue()


def docx_file() -> bytes:
    import docx

    document = docx.Document()
    document.core_properties.title = "Handbook"
    document.add_heading("Leave", 1)
    document.add_paragraph("Everybody has thirty days of leave a year.")
    table = document.add_table(rows=3, cols=2)
    for row, cells in zip(table.rows, (("Country", "Days"), ("France", "25"), ("Spain", "22")), strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    document.add_heading("Sickness", 2)
    document.add_paragraph("Call before nine.", style="List Bullet")
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def edited_docx_file() -> bytes:
    """A document with tracked changes, a content control, a text box in its two forms, a footnote and a merged cell."""
    import docx
    from docx.opc.constants import RELATIONSHIP_TYPE
    from docx.opc.packuri import PackURI
    from docx.opc.part import Part
    from docx.oxml import parse_xml

    names = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:v="urn:schemas-microsoft-com:vml"'
    names += ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    document = docx.Document()
    fee = document.add_paragraph("The fee is ")._p
    fee.append(parse_xml(f'<w:del {names} w:id="1" w:author="a"><w:r><w:delText>100 EUR</w:delText></w:r></w:del>'))
    fee.append(parse_xml(f'<w:ins {names} w:id="2" w:author="a"><w:r><w:t>200 EUR</w:t></w:r></w:ins>'))
    fee.append(parse_xml(f'<w:r {names}><w:t xml:space="preserve"> per month.</w:t></w:r>'))
    control = "<w:sdtContent><w:p><w:r><w:t>Filled into a form</w:t></w:r></w:p></w:sdtContent>"
    fee.addnext(parse_xml(f"<w:sdt {names}>{control}</w:sdt>"))
    box = "<w:txbxContent><w:p><w:r><w:t>Written in a box</w:t></w:r></w:p></w:txbxContent>"
    both = f'<mc:Choice Requires="v"><w:pict>{box}</w:pict></mc:Choice><mc:Fallback><w:pict>{box}</w:pict></mc:Fallback>'
    document.add_paragraph()._p.append(parse_xml(f"<w:r {names}><mc:AlternateContent>{both}</mc:AlternateContent></w:r>"))
    notes = f'<w:footnotes {names}><w:footnote w:id="1"><w:p><w:r><w:t>Without tax</w:t></w:r></w:p></w:footnote></w:footnotes>'
    content_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), content_type, notes.encode(), document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    table = document.add_table(rows=2, cols=3)
    for cell, text in zip(table.rows[0].cells, ("Name", "Region", "Total"), strict=True):
        cell.text = text
    table.cell(1, 0).merge(table.cell(1, 1)).text = "North and South"
    table.cell(1, 2).text = "7"
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def blank_picture(width: int, height: int) -> bytes:
    """A PNG of one bit a pixel: small, and very large when it is decoded."""

    def part(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((width + 7) // 8 + 1) * height)
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", header) + part(b"IDAT", rows) + part(b"IEND", b"")


def pptx_file() -> bytes:
    import pptx

    deck = pptx.Presentation()
    for title, body, notes in (("Plans", "Grow the team", ""), ("Risks", "Weather and tides", "Mention the storm")):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = body
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    out = io.BytesIO()
    deck.save(out)
    return out.getvalue()


def xlsx_file() -> bytes:
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out, {"in_memory": True}) as book:
        for name, rows in (("Prices", [("Fruit", "Price"), ("Apple", 3), ("Pear", 4.5)]), ("Notes", [("only one cell",)])):
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    return out.getvalue()


def message() -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "Ada <ada@example.org>", "bob@example.org", "The tides"
    mail["Date"] = "Mon, 02 Mar 2026 10:00:00 +0000"
    mail.set_content("High water is at noon.\n")
    mail.add_attachment(docx_file(), maintype="application", subtype="octet-stream", filename="handbook.docx")
    mail.add_attachment(b"\x00\x01\x02\x03" * 50, maintype="application", subtype="octet-stream", filename="blob.bin")
    inner = EmailMessage()
    inner["From"], inner["Subject"] = "eve@example.org", "Forwarded words"
    inner.set_content("The harbour is closed.\n")
    mail.add_attachment(inner)
    return mail.as_bytes()


def bomb(size: int) -> bytes:
    """An office document with a part that unpacks to very much."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        with archive.open("word/document.xml", "w") as file:
            for _ in range(size // 1_000_000):
                file.write(b" " * 1_000_000)
    return out.getvalue()


RTF = (
    rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Times;}}{\info{\title Hidden}}{\*\generator X;}\f0 Caf\'e9 \u8364?5 {\b bold}\par "
    rb"Second \{line\}\par\trowd A\cell B\cell\row \u55357?\u56832? end}"
)
HTML = b"""<!doctype html><html lang="en"><head><title>Ships &amp; harbours</title><style>p{}</style></head><body>
<nav><a href="/">Home</a></nav><main><h1>Ships</h1><p>Ships   sail<br>far.</p><ul><li>One <b>mast</b></li><li>Two masts</li></ul>
<table><tr><th>Ship</th><th>Year</th></tr><tr><td>Vasa</td><td>1628</td></tr></table><pre>def sail():
    pass</pre><h2>Harbours</h2><p>Rotterdam.</p></main><script>alert(1)</script><footer>(c)</footer></body></html>"""
