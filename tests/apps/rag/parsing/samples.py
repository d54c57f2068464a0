"""Small files of every format, made here."""

from __future__ import annotations

import io
import zipfile
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
