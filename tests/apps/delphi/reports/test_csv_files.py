import csv
import io
from dataclasses import replace

from gateleg.apps.delphi.opinions.matrix import VoteMatrix
from gateleg.apps.delphi.reports.csv_files import comment_clusters, comment_groups, participant_votes
from tests.apps.delphi.real import FOLDER, needs_real_conversations, real_conversation
from tests.apps.delphi.told import NAMES, findings, opinions, synthetic


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_votes_of_participants_are_those_that_were_cast_last() -> None:
    latest = synthetic().conversation.votes.latest()
    rows = {int(row["participant"]): row for row in _rows(participant_votes(opinions().matrix, {}, synthetic().conversation.comments))}
    for person, comment, choice in zip(latest.participants.tolist(), latest.comments.tolist(), latest.choices.tolist(), strict=True):
        assert rows[person][str(comment)] == str(choice)
    assert {row["group-id"] for row in rows.values()} == {""}
    assert sum(int(row["n-votes"]) for row in rows.values()) == len(latest)
    assert sum(int(row["n-agree"]) for row in rows.values()) == int((latest.choices == 1).sum())


@needs_real_conversations
def test_the_format_is_that_of_a_real_export() -> None:
    conversation = real_conversation("brexit-consensus")
    mine = participant_votes(VoteMatrix.of(conversation.votes), {0: 1}, conversation.comments)
    with (FOLDER / "brexit-consensus" / "participants-votes.csv").open(encoding="utf-8") as file:
        assert mine.splitlines()[0] == file.readline().strip()


def test_votes_of_groups_are_counted_by_comment() -> None:
    rows = _rows(comment_groups(findings()))
    assert [int(row["comment-id"]) for row in rows] == list(findings().statements)
    for row in rows:
        statement = findings().statements[int(row["comment-id"])]
        assert int(row["total-votes"]) == statement.everybody.votes
        assert [int(row[f"group-{letter}-agrees"]) for letter in "abc"] == [count.agrees for count in statement.groups]
        assert int(row["group-b-passes"]) == statement.groups[1].passes


def test_topics_stand_by_comment_and_layer() -> None:
    rows = _rows(comment_clusters(findings()))
    assert [int(row["comment-id"]) for row in rows] == list(findings().statements)
    for row in rows:
        assert int(row["layer0_cluster_id"]) == synthetic().topic_of[int(row["comment-id"])]
        assert int(row["layer1_cluster_id"]) == int(row["layer0_cluster_id"]) // 2
        assert row["layer0_topic"] == NAMES[int(row["layer0_cluster_id"])]


def test_a_text_that_a_spreadsheet_would_run_is_kept_from_running() -> None:
    number, statement = next(iter(findings().statements.items()))
    found = replace(findings(), statements={number: replace(statement, body='=HYPERLINK("x")')})
    assert _rows(comment_groups(found))[0]["comment"] == '\'=HYPERLINK("x")'
