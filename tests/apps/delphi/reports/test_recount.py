"""Every sentence of a report is recounted from its two CSV files by a second program that shares no code with the first."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from gateleg.apps.delphi.conversations.conversation import Comment, Conversation
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.stage import analyse
from gateleg.apps.delphi.reports.artifacts import data_files, make_artifacts
from gateleg.apps.delphi.reports.findings import find
from gateleg.apps.delphi.reports.moments import with_moments
from gateleg.apps.delphi.reports.narrative import write_sections
from gateleg.apps.delphi.topics.stage import analyse_comments
from tests.apps.delphi.real import FOLDER, NAMES, needs_real_conversations, real_conversation
from tests.apps.delphi.recount import recount
from tests.apps.delphi.texts import local_embeddings
from tests.apps.delphi.told import synthetic

#: The two smallest; the others take long.
REAL = [name if place in (0, 2) else pytest.param(name, marks=pytest.mark.slow) for place, name in enumerate(NAMES)]


def reported(conversation: Conversation, folder: Path) -> Path:
    """The files of a report, in a folder."""
    opinions = analyse(conversation.votes, conversation.comments)
    plain = find(conversation, opinions, analyse_comments(conversation.comments, local_embeddings(), votes=conversation.counted_votes))
    findings = with_moments(plain, conversation.counted_votes(), opinions.moderation, opinions.matrix.participants)
    data = data_files(findings, opinions.matrix, conversation.comments)
    for name, content in make_artifacts(findings, write_sections(findings), data, "templates", opinions.matrix).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def exported(conversation: Conversation, folder: Path) -> tuple[Path, Path]:
    """The two CSV files of a conversation."""
    votes, comments = folder / "votes.csv", folder / "comments.csv"
    cast = conversation.votes
    with votes.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["timestamp", "comment-id", "voter-id", "vote"])
        rows.writerows(
            zip((cast.times / 1000).tolist(), cast.comments.tolist(), cast.participants.tolist(), cast.choices.tolist(), strict=True)
        )
    with comments.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["comment-id", "moderated", "comment-body"])
        rows.writerows([one.comment_id, one.moderated, one.body] for one in conversation.comments)
    return votes, comments


def test_a_report_of_a_synthetic_conversation_is_recounted(tmp_path: Path) -> None:
    conversation = synthetic().conversation
    votes, comments = exported(conversation, tmp_path)
    sentences, faults = recount(votes, comments, reported(conversation, tmp_path / "report"))
    assert faults == []
    assert sentences > 40

    narrative = tmp_path / "report/data/narrative.json"
    told = json.loads(narrative.read_text(encoding="utf-8"))
    clause = told[0]["paragraphs"][0]["sentences"][0]["clauses"][0]
    clause["text"] = clause["text"].replace("150 participants", "151 participants")
    told[1]["paragraphs"][0]["sentences"].append({"clauses": [{"text": "Everybody is happy.", "citations": []}]})
    narrative.write_text(json.dumps(told), encoding="utf-8")
    _, faults = recount(votes, comments, tmp_path / "report")
    assert [fault.rpartition(": ")[2] for fault in faults] == ["151 participants are said, 150 counted", "not understood"]

    page = tmp_path / "report/report.html"
    text = page.read_text(encoding="utf-8")
    card = re.search(r"(\d+)% agree \((\d+) to (\d+)\)", text)
    assert card is not None
    page.write_text(text.replace(card.group(0), f"{card[1]}% agree ({card[2]} to {int(card[3]) - 2})", 1), encoding="utf-8")
    _, more = recount(votes, comments, tmp_path / "report")
    assert [fault.partition(": ")[2][:10] for fault in more if fault not in faults] == ["a bound of"]


def test_a_moment_of_the_timeline_with_a_wrong_figure_is_a_fault(tmp_path: Path) -> None:
    conversation = synthetic().conversation
    votes, comments = exported(conversation, tmp_path)
    report = reported(conversation, tmp_path / "report")
    path = report / "data/timeline.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = ["votes", "time", "participants", "comments", "compared-participants", "group-a-participants"]
    wrong = {name: str(int(rows[9][name]) + 1) for name in names if name != "time"} | {"time": rows[8]["time"]}
    for name in names:
        with path.open("w", newline="", encoding="utf-8") as file:
            table = csv.DictWriter(file, list(rows[0]))
            table.writeheader()
            table.writerows([*rows[:9], rows[9] | {name: wrong[name]}, *rows[10:]])
        _, faults = recount(votes, comments, report)
        # The figure itself, and that the page has another.
        assert len(faults) == 2, (name, faults)
        assert all(fault.startswith(rows[9]["time"]) for fault in faults)


def test_a_moment_that_is_wrongly_explained_by_chance_or_wrongly_not_is_a_fault(tmp_path: Path) -> None:
    conversation = synthetic().conversation
    votes, comments = exported(conversation, tmp_path)
    report = reported(conversation, tmp_path / "report")
    path = report / "data/timeline.csv"
    text = path.read_text(encoding="utf-8")
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {row["may-be-chance"] for row in rows} == {"0", "1"}
    for row in rows:
        row["may-be-chance"] = "1" if row["may-be-chance"] == "0" else "0"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    _, faults = recount(votes, comments, report)
    assert sum("shuffles differ as strongly" in fault for fault in faults) == len(rows)
    path.write_text(text, encoding="utf-8")
    assert recount(votes, comments, report)[1] == []


def test_the_moments_of_a_timeline_are_those_of_the_votes(tmp_path: Path) -> None:
    conversation = synthetic().conversation
    votes, comments = exported(conversation, tmp_path)
    report = reported(conversation, tmp_path / "report")
    lines = votes.read_text(encoding="utf-8").splitlines(keepends=True)
    # Without some of its votes the conversation has another history.
    votes.write_text("".join([lines[0], *lines[1::2]]), encoding="utf-8")
    _, faults = recount(votes, comments, report)
    assert sum("others are drawn than those who had voted" in fault for fault in faults) > 0
    assert sum("compared-participants are said" in fault for fault in faults) > 10


def test_a_report_of_random_votes_is_recounted(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    rows = [(person, comment, int(random.integers(-1, 2)), 1_000 * person + comment) for person in range(60) for comment in range(12)]
    conversation = Conversation("lot", Votes.of(rows), [Comment(number, f"The bridge number {number} is old") for number in range(12)])
    votes, comments = exported(conversation, tmp_path)
    _, faults = recount(votes, comments, reported(conversation, tmp_path / "report"))
    assert faults == []
    assert "No groups were found" in (tmp_path / "report/report.html").read_text(encoding="utf-8")


@needs_real_conversations
@pytest.mark.parametrize("name", REAL)
def test_a_report_of_a_real_conversation_is_recounted(name: str, tmp_path: Path) -> None:
    report = reported(real_conversation(name), tmp_path)
    sentences, faults = recount(FOLDER / name / "votes.csv", FOLDER / name / "comments.csv", report)
    assert faults == []
    assert sentences > 40
