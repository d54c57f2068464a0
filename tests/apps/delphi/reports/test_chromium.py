import stat
from pathlib import Path

import pytest

from gateleg.apps.delphi.errors import BrowserMissing, PrintingFailed
from gateleg.apps.delphi.reports.artifacts import content_type
from gateleg.apps.delphi.reports.chromium import draw_png, find_browser, print_files, print_pdf
from gateleg.apps.delphi.reports.maps import groups_map
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.report import write_report
from tests.apps.delphi.told import findings
from tests.conftest import chromium

needs_chromium = pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")


@pytest.mark.browser
@needs_chromium
def test_a_report_is_printed() -> None:
    found = print_pdf(write_report(findings(), write_sections(findings())).encode())
    assert found.startswith(b"%PDF-")
    assert found.count(b"/Type /Page") > 3


@pytest.mark.browser
@needs_chromium
def test_a_map_is_drawn_in_the_size_that_is_wanted() -> None:
    found = draw_png(groups_map(findings()).encode(), 480, 310)
    assert found.startswith(b"\x89PNG")
    assert (int.from_bytes(found[16:20]), int.from_bytes(found[20:24])) == (480, 310)


@pytest.mark.browser
@needs_chromium
def test_what_is_wanted_is_printed() -> None:
    files = {"report.html": b"<p>x", "maps/groups.svg": groups_map(findings()).encode(), "data/a.csv": b"x"}
    found = print_files(files, ("pdf", "png"))
    assert {name: content[:4] for name, content in found.items()} == {"report.pdf": b"%PDF", "maps/groups.png": b"\x89PNG"}
    assert {content_type(name) for name in found} == {"application/pdf", "image/png"}
    assert print_files(files, ()) == {}


def test_without_a_browser_it_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GATELEG_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(BrowserMissing, match="print the report from any browser"):
        print_pdf(b"<p>x")


@pytest.mark.parametrize(("script", "why"), [("echo broken >&2; exit 3", "status 3: broken"), ("exec sleep 100", "timed out")])
def test_a_browser_that_fails_or_hangs_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, why: str) -> None:
    fake = tmp_path / "chromium"
    fake.write_text(f"#!/bin/sh\n{script}\n")
    fake.chmod(fake.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("GATELEG_CHROMIUM", str(fake))
    assert find_browser() == str(fake)
    with pytest.raises(PrintingFailed, match=why):
        print_pdf(b"<p>x", timeout=2.0)
