import csv
import io
import re
from base64 import b64decode
from dataclasses import replace
from typing import Any

import pytest

from gateleg.apps.delphi.opinions.modes import Mode
from gateleg.apps.delphi.reports.artifacts import make_artifacts
from gateleg.apps.delphi.reports.explorer import write_explorer
from gateleg.apps.delphi.reports.findings import Findings
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.report import write_report
from tests.apps.delphi.reports.test_markup import Reader
from tests.apps.delphi.told import empty, findings, synthetic

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \"'&"


def _report(found: Findings) -> str:
    return write_report(found, write_sections(found), {"a.csv": "x,y\n1,ü\n"})


def hostile_findings() -> Findings:
    base = findings()
    statements = {number: replace(statement, body=f"{HOSTILE} {number}") for number, statement in base.statements.items()}
    topics = tuple(tuple(replace(topic, naming=replace(topic.naming, name=HOSTILE)) for topic in layer) for layer in base.topics)
    return replace(base, statements=statements, topics=topics, title=HOSTILE, description=HOSTILE)


def test_every_comment_stands_in_the_report_and_every_citation_leads_to_one() -> None:
    read = Reader(_report(findings()))
    anchors = {value for name, value in read.attributes if name == "id"}
    targets = {value for name, value in read.attributes if name == "href" and value and value.startswith("#")}
    assert {f"#{anchor}" for anchor in anchors} >= targets
    assert {f"c{number}" for number in findings().statements} <= anchors
    assert len(anchors) == sum(name == "id" for name, _ in read.attributes)


def test_rejected_comments_do_not_stand_in_the_report() -> None:
    rejected = [comment.body for comment in synthetic().conversation.comments if comment.moderated == -1]
    page = _report(findings()) + write_explorer(findings())
    assert not any(body in page for body in rejected)


@pytest.mark.parametrize(
    ("mode", "replayed", "told"),
    [
        ("improved", False, "improved mode, with many starts of k-means."),
        ("exact", False, "exact mode, as Polis computes them."),
        ("exact", True, "exact mode, by replaying the votes in the order of time."),
    ],
)
def test_the_report_says_how_groups_were_found(mode: Mode, replayed: bool, told: str) -> None:
    assert f"Groups were found in {told}" in _report(replace(findings(), mode=mode, replayed=replayed))


def test_percentages_are_written_one_way() -> None:
    text = " ".join(Reader(_report(findings())).texts)
    assert re.search(r"\d%", text)
    assert not re.search(r"\d\s%", text)


@pytest.mark.parametrize("write", [_report, write_explorer])
def test_what_participants_wrote_is_only_ever_text(write: Any) -> None:
    clean, hostile = Reader(write(findings())), Reader(write(hostile_findings()))
    assert hostile.tags.count("script") == clean.tags.count("script")
    assert "img" not in hostile.tags
    assert not [name for name, _ in hostile.attributes if name.startswith("on")]


@pytest.mark.parametrize("write", [_report, write_explorer])
def test_a_page_loads_nothing_from_elsewhere(write: Any) -> None:
    page = write(findings())
    assert any((value or "").startswith("default-src 'none'") for name, value in Reader(page).attributes if name == "content")
    without = page.replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?://|url\(|@import", without)


@pytest.mark.parametrize("write", [_report, write_explorer])
def test_a_page_about_nothing_can_be_written(write: Any) -> None:
    assert "<h1" in write(empty())


def test_the_report_runs_no_script() -> None:
    assert "script" not in Reader(_report(findings())).tags


def test_the_data_can_be_saved_from_the_report() -> None:
    page = _report(findings())
    found = re.search(r'download="a.csv" href="data:text/csv;charset=utf-8;base64,([^"]+)"', page)
    assert found is not None
    assert list(csv.reader(io.StringIO(b64decode(found.group(1)).decode()))) == [["x", "y"], ["1", "ü"]]


def test_texts_of_either_direction_find_their_own() -> None:
    base = findings()
    number, statement = next(iter(base.statements.items()))
    page = _report(replace(base, statements={number: replace(statement, body="الحافلة متأخرة")}))
    assert re.search(r'<td[^>]*dir="auto"[^>]*>الحافلة متأخرة', page)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ((), set()),
        (("basic",), {"maps/groups.svg", "maps/consensus.svg"}),
        (("enhanced",), {"map.html"}),
        (("multilayer",), {"maps/layer_0.svg", "maps/layer_1.svg"}),
    ],
)
def test_a_report_has_the_maps_that_are_wanted(wanted: Any, names: set[str]) -> None:
    files = make_artifacts(findings(), write_sections(findings()), {}, visualizations=wanted)
    assert set(files) == names | {"report.html", "summary.html", "data/narrative.json"}


def test_only_what_most_of_every_group_agree_with_is_ranked_as_a_bridge() -> None:
    found = findings()
    shown = re.search(r'aria-label="What bridges groups, ranked".*?</table>', write_report(found, write_sections(found)), re.DOTALL)
    assert shown is not None
    ranked = [int(number) for number in re.findall(r'href="#c(\d+)"', shown.group(0))]
    assert ranked == [one.comment_id for one in found.bridges() if min(count.share("agree") for count in one.groups) > 0.5][:15]
    apart = replace(found, statements={number: one for number, one in found.statements.items() if number not in ranked})
    assert apart.bridges()
    assert "What bridges the groups, ranked" not in write_report(apart, write_sections(apart))
