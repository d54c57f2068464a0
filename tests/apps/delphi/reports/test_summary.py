import re

import pytest

from gateleg.apps.delphi.reports.chromium import print_pdf
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.sections import Paragraph, Section, sentence
from gateleg.apps.delphi.reports.summary import write_summary
from tests.apps.delphi.reports.test_chromium import needs_chromium
from tests.apps.delphi.told import empty, findings


def test_the_summary_says_what_the_report_says() -> None:
    sections = write_sections(findings())
    page = write_summary(findings(), sections)
    bridging = next(part for part in sections[2].paragraphs if part.id == "bridging")
    for one in bridging.sentences[:3]:
        start = one.clauses[0].text.split("“")[0]
        assert start in page
    assert all(f"{group.name}: {group.size:,} people" in page for group in findings().groups)
    assert "Who was not heard" in page


def test_the_summary_loads_nothing() -> None:
    page = write_summary(findings(), write_sections(findings()))
    assert not re.search(r"<script|https?://(?!www\.w3\.org)", page)
    assert "default-src &#39;none&#39;" in page or "default-src 'none'" in page


def test_a_conversation_without_votes_has_a_summary() -> None:
    assert "0 people" in write_summary(empty(), write_sections(empty()))


@pytest.mark.browser
@needs_chromium
def test_the_summary_is_one_page_on_paper() -> None:
    found = print_pdf(write_summary(findings(), write_sections(findings())).encode())
    assert len(re.findall(rb"/Type /Page\b(?!s)", found)) == 1


def test_a_long_quotation_is_cut_and_closed() -> None:
    long = Section(
        id="uncertainty",
        title="Uncertainty",
        paragraphs=(Paragraph(id="passes", title="Passes", sentences=(sentence(f"33% of 45 voters pass: “{'word ' * 80}”"),)),),
    )
    page = write_summary(findings(), [long])
    assert re.search(r"33% of 45 voters pass: “(?:word )+word…”", page)
