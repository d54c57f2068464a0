import csv
import io
import re
from base64 import b64decode
from functools import cache

import numpy as np
import orjson

from gateleg.apps.delphi.reports.artifacts import data_files, make_artifacts
from gateleg.apps.delphi.reports.findings import Findings
from gateleg.apps.delphi.reports.moments import MOST_PEOPLE, growth_chart, moments_csv, replay_data, with_moments
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.reports.replay import write_replay
from gateleg.apps.delphi.reports.report import write_report
from tests.apps.delphi.told import findings, opinions, synthetic


@cache
def followed() -> Findings:
    """The findings with their moments."""
    return with_moments(findings(), synthetic().conversation.votes, opinions().moderation, opinions().matrix.participants)


def test_the_table_of_moments_ends_with_the_figures_of_the_report() -> None:
    rows = list(csv.DictReader(io.StringIO(moments_csv(followed()))))
    assert len(rows) == len(followed().moments) == 24
    last = rows[-1]
    assert (int(last["votes"]), int(last["participants"])) == (findings().totals.votes, findings().totals.participants)
    assert [int(last[f"group-{group.letter.lower()}-participants"]) for group in findings().groups] == [
        one.size for one in findings().groups
    ]


def test_the_animation_has_everybody_at_every_moment() -> None:
    data = replay_data(followed())
    assert data["drawn"] == len(findings().people) < MOST_PEOPLE
    for moment, one in zip(followed().moments, data["moments"], strict=True):
        groups = np.frombuffer(b64decode(one["in"]), dtype=np.int8)
        assert (groups == moment.groups).all()
        assert len(np.frombuffer(b64decode(one["x"]), dtype="<i2")) == len(groups)
        assert one["sizes"] == [int((groups == group.place).sum()) for group in findings().groups]


def test_the_replay_loads_nothing_and_has_the_table_without_scripts() -> None:
    page = write_replay(followed())
    assert not re.search(r"https?://(?!www\.w3\.org)", page)
    assert "default-src &#39;none&#39;" in page
    assert page.count("<tr>") == 25
    # One module: no name is declared twice, and nothing is imported.
    script = page.rpartition('<script type="module">')[2]
    names = re.findall(r"^const (\w+)", script, flags=re.MULTILINE)
    assert len(names) == len(set(names))
    assert "import " not in script


def test_the_files_of_a_report_have_the_replay_and_its_data() -> None:
    found = followed()
    data = data_files(found, opinions().matrix, synthetic().conversation.comments)
    files = make_artifacts(found, write_sections(found), data, matrix=opinions().matrix)
    assert {"replay.html", "data/timeline.json", "data/timeline.csv"} <= set(files)
    assert orjson.loads(files["data/timeline.json"]) == replay_data(found)
    again = make_artifacts(found, write_sections(found), data, matrix=opinions().matrix)
    assert files == again
    without = make_artifacts(found, write_sections(found), data, matrix=opinions().matrix, visualizations=["basic"])
    assert "replay.html" not in without
    assert b"replay.html" in files["report.html"]
    assert b"replay.html" not in without["report.html"]


def test_the_report_shows_how_the_groups_came_about() -> None:
    page = write_report(followed(), write_sections(followed()))
    assert "How the groups formed" in page
    assert growth_chart(followed()) in page
    assert "How the groups formed" not in write_report(findings(), write_sections(findings()))
