"""A model that lies in every way it can gets no sentence into a report."""

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.apps.delphi.application import application
from gateleg.apps.delphi.commands import app
from gateleg.apps.delphi.conversations.spreadsheet import as_export
from gateleg.apps.delphi.runs.origin import Origin
from gateleg.apps.delphi.runs.run_tables import NarrativeSection
from gateleg.apps.delphi.service import latest_run, results, upload_conversation
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.jobs import JobStatus, Submission
from tests.apps.delphi.answering import answering
from tests.apps.delphi.reports.test_chromium import needs_chromium
from tests.apps.delphi.served import conversation
from tests.apps.delphi.test_doors import unpacked
from tests.apps.delphi.test_work import worked

#: False of any conversation, or at least of this one; most of them passed when sentences were checked word by word.
LIES = (
    "The mayor of Auckland has been bribed.",
    "The mayor has been bribed, and participants want fewer rules against pollution.",
    "Nobody in Group B wants polluters held accountable.",
    "Group A does not agree with this.",
    "Few participants support stronger enforcement.",
    "Only a small minority backs accountability.",
    "Both groups are split.",
    "Group A agrees less than Group B.",
    "Half of the participants agree.",
    "There are 12 groups.",
    "Hardly anybody cares about it.",
    "Opinion is shifting towards rejection.",
    "Everyone but the rich agrees.",
    "Two thirds are undecided.",
    "Group B has hardly any members.",
    "The others reject it, and Group A neither.",
    "Not a single person disagreed.",
    "Experts confirm that this would work.",
    "Most who voted were women over sixty.",
    "Support has collapsed since the last vote.",
    "Group A favours a ban on everything.",
    "It is widely opposed.",
    "A majority would rather leave.",
    "Opponents outnumber supporters three to one.",
    "This was decided by the council last year.",
)
LIE = re.compile("|".join(re.escape(lie) for lie in LIES) + "|bribed|mayor", re.IGNORECASE)


def _answers(prompt: str, number: int) -> str:
    """Every shape in which a sentence could be smuggled in, one after the other."""
    lie = LIES[number % len(LIES)]
    ids = [int(text) for text in re.findall(r'<comment id="(\d+)"', prompt)] or [0]
    slots = re.findall(r"^- (\w+)", prompt, re.MULTILINE) or ["overview"]
    true = [{"kind": kind, "comment": one, "text": lie, "quote": lie, "why": lie} for one in ids for kind in ("agreement", "passing")]
    shapes: list[object] = [
        # As models wrote sections before.
        {
            "id": "s",
            "title": lie,
            "paragraphs": [{"id": "p", "title": lie, "sentences": [{"clauses": [{"text": lie, "citations": ids[:1]}]}]}],
        },
        {"paragraphs": [{"paragraph": slot, "title": lie, "text": lie, "claims": true[:8]} for slot in slots], "text": lie},
        {"paragraphs": [{"paragraph": lie, "claims": true[:1]}]},
        {"paragraphs": [{"paragraph": slots[0], "claims": [{"kind": "share", "comment": ids[0], "side": "agree", "group": lie}]}]},
        {"paragraphs": [{"paragraph": slots[0], "claims": [{"kind": lie, "comment": ids[0], "text": lie}]}]},
        {"paragraphs": [{"paragraph": slots[0], "claims": [{"kind": "majority", "comment": one, "side": "disagree"} for one in ids[:8]]}]},
        {"paragraphs": [{"paragraph": slots[0], "claims": [{"kind": "agreement", "comment": ids[0], "note": lie}]}], "summary": lie},
    ]
    shape = shapes[number % len(shapes)]
    return lie if number % 11 == 10 else json.dumps(shape)


@pytest.fixture
def liar() -> Iterator[str]:
    numbers = count()
    with answering(lambda prompt: _answers(prompt, next(numbers))) as address:
        yield address


def _export(folder: Path) -> list[str]:
    for name, text in as_export(conversation()).items():
        (folder / name).write_text(text, encoding="utf-8")
    return [str(folder / "votes.csv"), str(folder / "comments.csv"), "--out", str(folder / "report")]


def _told(folder: Path) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 5
    return [path.name for path in files if any(LIE.search(text) for text in unpacked(path.read_bytes()))]


def test_no_lie_of_an_author_is_in_a_report_of_the_command_line(tmp_path: Path, liar: str) -> None:
    result = CliRunner().invoke(app, ["run", *_export(tmp_path), "--no-topics", "--author", liar])
    assert result.exit_code == 0, result.output
    assert not LIE.search(result.output)
    assert _told(tmp_path / "report") == []


@pytest.mark.browser
@needs_chromium
def test_no_lie_of_an_author_is_printed(tmp_path: Path, liar: str) -> None:
    assert CliRunner().invoke(app, ["run", *_export(tmp_path), "--no-topics", "--author", liar, "--pdf"]).exit_code == 0
    assert (tmp_path / "report" / "report.pdf").is_file()
    assert _told(tmp_path / "report") == []


async def test_no_lie_of_an_author_is_in_a_report_of_a_host(tmp_path: Path, liar: str) -> None:
    settings = Settings(store="embedded::memory:", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with Host.open(settings, [application]) as host:
        await upload_conversation(host.store, conversation())
        stages = [{"stage": "PCA"}, {"stage": "REPORT", "config": {"model": liar}}]
        job = await worked(host.queue, Submission("FULL_PIPELINE", {"stages": stages}, subject="town"))
        assert job.status is JobStatus.COMPLETED
        run = await latest_run(host.store, "town", "REPORT")
        assert Origin(run.job_id, "town", run.created_at)
        rows = [row async for row in results(host.store, NarrativeSection, run.job_id)]
        assert rows
        assert [row.section for row in rows if LIE.search(repr(row))] == []
    assert _told(tmp_path / "objects") == []


def test_a_lying_name_of_a_topic_is_said_not_to_be_checked(tmp_path: Path) -> None:
    """A model may name topics if it is asked to; readers are told that nobody has checked the names."""
    with answering(lambda prompt: json.dumps({"name": "Schools for the mayor"})) as address:
        result = CliRunner().invoke(app, ["run", *_export(tmp_path), "--chat", address])
    assert result.exit_code == 0, result.output
    report = tmp_path / "report"
    for name in ("report.html", "data/narrative.json", "map.html"):
        text = (report / name).read_text(encoding="utf-8")
        assert "schools for the mayor" in text.lower()
        assert "Names of topics were written by a model, not checked" in text
