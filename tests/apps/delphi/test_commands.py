import asyncio
import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner, Result

from gateleg.apps.delphi.commands import app
from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.service import ensure_tables, upload_conversation
from gateleg.store import AsyncStore
from tests.apps.delphi.reports.test_translation import foreign, translating
from tests.apps.delphi.workbooks import write_xlsx


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """The two files of a small synthetic conversation."""
    return _exported(tmp_path, comments=30)


def _exported(folder: Path, comments: int) -> Path:
    conversation = synthesise(SyntheticPlan(participants=60, comments=comments, votes_per_participant=20)).conversation
    with (folder / "comments.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["timestamp", "comment-id", "author-id", "moderated", "comment-body"])
        for comment in conversation.comments:
            writer.writerow([1_600_000_000, comment.comment_id, comment.author_id, comment.moderated, comment.body])
    votes = conversation.votes
    with (folder / "votes.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["timestamp", "comment-id", "voter-id", "vote"])
        writer.writerows(
            zip(votes.times.tolist(), votes.comments.tolist(), votes.participants.tolist(), votes.choices.tolist(), strict=True)
        )
    return folder


def test_a_report_that_could_not_be_written_is_not_begun(tmp_path: Path) -> None:
    (tmp_path / "report").write_text("mine")
    told = _run(tmp_path)
    assert (told.exit_code, (tmp_path / "report").read_text()) == (1, "mine")
    assert "report cannot be written: it exists and is not a folder" in told.stderr


def _run(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(
        app, ["run", str(folder / "votes.csv"), str(folder / "comments.csv"), "--out", str(folder / "report"), *options]
    )


def test_a_report_is_written_from_two_files(export: Path) -> None:
    result = _run(export, "--no-topics")
    assert result.exit_code == 0, result.output
    assert "votes of 60 participants" in result.output
    written = {str(path.relative_to(export / "report")) for path in (export / "report").rglob("*") if path.is_file()}
    assert {"report.html", "map.html", "maps/groups.svg", "data/participant-votes.csv", "data/narrative.json"} <= written
    assert "Opinion groups" in (export / "report" / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("options", "mode"), [([], "improved"), (["--mode", "exact"], "exact")])
def test_the_report_says_in_which_mode_groups_were_found(export: Path, options: list[str], mode: str) -> None:
    _run(export, "--no-topics", *options)
    assert f"found in {mode} mode" in (export / "report" / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_two_runs_write_the_same_files(export: Path) -> None:
    _run(export, "--no-topics")
    first = {path: path.read_bytes() for path in (export / "report").rglob("*") if path.is_file()}
    _run(export, "--no-topics")
    assert all(path.read_bytes() == content for path, content in first.items())


@pytest.mark.slow
def test_shuffled_files_in_another_process_give_the_same_report_to_the_last_byte(tmp_path: Path) -> None:
    # So few comments that no process waits for UMAP to compile itself.
    export = _exported(tmp_path, comments=7)
    # A conversation without a title is called like its folder.
    shuffled = export / export.name
    shuffled.mkdir()
    for number, name in enumerate(("votes.csv", "comments.csv")):
        head, *lines = (export / name).read_text(encoding="utf-8").splitlines(keepends=True)
        Random(number).shuffle(lines)
        (shuffled / name).write_text("".join([head, *lines]), encoding="utf-8")
    found = []
    for folder in (export, shuffled):
        command = [sys.executable, "-m", "gateleg", "delphi", "run", "votes.csv", "comments.csv"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=600)
        report = folder / "report"
        found.append({str(path.relative_to(report)): path.read_bytes() for path in report.rglob("*") if path.is_file()})
    assert "maps/layer_0.svg" in found[0]
    assert found[0] == found[1]


def test_the_summary_beside_the_votes_gives_the_title(export: Path) -> None:
    (export / "summary.csv").write_text("topic,What next?\n", encoding="utf-8")
    _run(export, "--no-topics")
    assert '<h1 dir="auto" translate="no">What next?</h1>' in (export / "report" / "report.html").read_text(encoding="utf-8")


def test_a_small_conversation_has_topics_too(export: Path) -> None:
    (export / "comments.csv").write_text("comment-id,comment-body\n0,The night bus is late\n1,Rents are too high\n", encoding="utf-8")
    (export / "votes.csv").write_text("timestamp,comment-id,voter-id,vote\n1,0,1,1\n1,1,1,-1\n", encoding="utf-8")
    result = _run(export)
    assert result.exit_code == 0, result.output
    assert "topics: 1 from coarse to fine" in result.output


def test_files_that_cannot_be_read_are_told_by_line_and_nothing_is_written(export: Path) -> None:
    with (export / "votes.csv").open("a", encoding="utf-8") as file:
        file.write("1,0,7,maybe\n")
    result = _run(export, "--no-topics")
    assert result.exit_code == 1
    assert "votes.csv, line" in result.output
    assert not (export / "report").exists()


@pytest.mark.parametrize("option", ["--chat", "--author"])
def test_a_model_that_does_not_exist_is_told(export: Path, option: str) -> None:
    result = _run(export, *(["--no-topics"] if option == "--author" else []), option, "nonsense")
    assert result.exit_code == 1
    assert "bad-model-address" in result.output


def test_a_folder_that_cannot_be_written_is_told(export: Path) -> None:
    (export / "report").write_text("a file", encoding="utf-8")
    result = _run(export, "--no-topics")
    assert result.exit_code == 1
    assert "cannot be written" in result.output


def test_without_a_browser_nothing_is_written_when_a_pdf_is_wanted(export: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GATELEG_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", "")
    result = _run(export, "--no-topics", "--pdf")
    assert result.exit_code == 1
    assert "browser-missing" in result.output
    assert not (export / "report").exists()


@pytest.mark.browser
def test_the_report_and_the_maps_are_printed(export: Path) -> None:
    result = _run(export, "--no-topics", "--pdf", "--png")
    assert result.exit_code == 0, result.output
    assert (export / "report" / "report.pdf").read_bytes().startswith(b"%PDF-")
    assert (export / "report" / "maps" / "groups.png").read_bytes().startswith(b"\x89PNG")


def test_another_run_into_the_folder_removes_what_only_the_first_has_made(export: Path) -> None:
    assert _run(export, "--no-topics").exit_code == 0
    report = export / "report"
    (report / "data" / "mine.csv").write_text("mine")
    (report / "maps" / "old.svg").write_text("old")
    listed = json.loads((report / "files.json").read_text())
    listed["maps/old.svg"] = hashlib.sha256(b"old").hexdigest()
    (report / "files.json").write_text(json.dumps(listed))
    assert _run(export, "--no-topics").exit_code == 0
    assert (report / "data" / "mine.csv").read_text() == "mine"
    assert not (report / "maps" / "old.svg").exists()
    assert (report / "maps" / "groups.svg").exists()


@pytest.mark.parametrize(
    "options", [["--order", "first-vote"], ["--replay", "200"], ["--mode", "exact", "--replay", "9", "--order", "participant"]]
)
def test_histories_that_cannot_be_are_refused_at_once(export: Path, options: list[str]) -> None:
    told = _run(export, *options)
    assert told.exit_code == 1
    assert "--order" in told.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--order", "participant"], "starting with the participants with the lowest ids"),
        (["--replay", "9"], "by replaying the votes in the order of time"),
        (["--replay", "3", "--replay-from", "0.8"], "by replaying the votes in the order of time"),
    ],
)
def test_the_history_that_exact_mode_assumes_can_be_chosen(export: Path, options: list[str], said: str) -> None:
    assert _run(export, "--no-topics", "--mode", "exact", *options).exit_code == 0
    assert said in (export / "report" / "report.html").read_text(encoding="utf-8")


def test_a_spreadsheet_of_answers_becomes_a_report(tmp_path: Path) -> None:
    answers = [[str(1 + (person + number) % 5) for number in range(8)] for person in range(20)]
    titles = ",".join(f"We should plant trees in street {number}" for number in range(8))
    (tmp_path / "answers.csv").write_text("\n".join([titles, *map(",".join, answers)]), encoding="utf-8")
    told = CliRunner().invoke(app, ["convert", str(tmp_path / "answers.csv"), "--out", str(tmp_path)])
    assert told.exit_code == 0, told.output
    assert "160 answers to 8 statements" in told.output
    assert _run(tmp_path, "--no-topics").exit_code == 0
    assert (tmp_path / "report" / "summary.html").is_file()


def test_a_spreadsheet_that_cannot_be_read_is_told_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("Trees,Cars\n1,4\n", encoding="utf-8")
    told = CliRunner().invoke(app, ["convert", str(tmp_path / "answers.csv"), "--out", str(tmp_path / "out")])
    assert told.exit_code == 1
    assert "--scale" in told.stderr
    assert not (tmp_path / "out").exists()


def test_conversations_of_a_host_are_submitted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = f"embedded:{tmp_path / 'store'}"
    asyncio.run(_kept(store))
    told = CliRunner().invoke(app, ["reprocess", "--all", "--store", store])
    assert told.exit_code == 0, told.output
    assert [line.split()[1] for line in told.output.splitlines()] == ["synthetic-1"]
    assert CliRunner().invoke(app, ["reprocess", "nowhere", "--store", store]).exit_code == 1
    assert "name conversations or pass --all" in CliRunner().invoke(app, ["reprocess", "--store", store]).stderr


async def _kept(store: str) -> None:
    async with AsyncStore.connect(store) as opened:
        await ensure_tables(opened)
        await upload_conversation(opened, synthesise(SyntheticPlan(participants=20, comments=8)).conversation)


def test_a_report_is_written_from_a_spreadsheet_alone(tmp_path: Path) -> None:
    rows: list[list[str | int | None]] = [[f"Statement {number}" for number in range(8)]]
    rows += [[1 + 4 * ((person + number) % 2) for number in range(8)] for person in range(20)]
    book = write_xlsx(tmp_path / "survey.xlsx", rows)
    told = CliRunner().invoke(app, ["run", str(book), "--out", str(tmp_path / "report"), "--no-topics"])
    assert told.exit_code == 0, told.output
    assert "160 votes of 20 participants on 8 comments" in told.output
    # Answers of a survey have no times: nothing is said of when they came.
    assert "quarter" not in (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert not (tmp_path / "report" / "replay.html").exists()


def test_the_flags_of_a_spreadsheet_are_applied(tmp_path: Path) -> None:
    rows: list[list[str | int | None]] = [[f"Statement {number}" for number in range(8)]]
    rows += [[1 + 4 * ((person + number) % 2) for number in range(8)] for person in range(20)]
    book = write_xlsx(tmp_path / "survey.xlsx", rows)
    (tmp_path / "flags.csv").write_text("comment-id,moderated\n3,-1\n", encoding="utf-8")
    flags = ["--flags", str(tmp_path / "flags.csv")]
    told = CliRunner().invoke(app, ["run", str(book), "--out", str(tmp_path / "report"), "--no-topics", *flags])
    assert told.exit_code == 0, told.output
    text = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert ("Statement 2" in text, "Statement 3" in text) == (True, False)


def test_a_report_comes_in_another_language_where_a_model_translates(export: Path) -> None:
    asked: list[str] = []
    with translating(foreign, asked) as address:
        told = _run(export, "--no-topics", "--language", "de", "--translator", address)
    assert told.exit_code == 0, told.output
    text = (export / "report" / "report.de.html").read_text(encoding="utf-8")
    assert "xOpinion xgroups" in text
    assert "Opinion groups" in (export / "report" / "report.html").read_text(encoding="utf-8")
    # The next run into the folder does not leave it behind.
    _run(export, "--no-topics")
    assert not (export / "report" / "report.de.html").exists()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--language", "de"], "language 'de' needs a model that translates"),
        (["--language", "!", "--author", "ollama:a"], "not a language tag"),
    ],
)
def test_another_language_without_a_model_is_refused_before_any_work(tmp_path: Path, options: list[str], why: str) -> None:
    told = _run(tmp_path, *options)
    assert told.exit_code == 1
    assert why in " ".join(told.stderr.split())
