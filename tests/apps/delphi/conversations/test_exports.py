from pathlib import Path
from typing import Any

import pytest

from gateleg.apps.delphi.conversations.conversation import Conversation
from gateleg.apps.delphi.conversations.csv_reader import open_text, records
from gateleg.apps.delphi.conversations.exports import read_export, read_summary
from gateleg.apps.delphi.conversations.votes import Choice
from gateleg.apps.delphi.errors import InvertedVotes, MissingColumns, UnreadableFile, UnreadableRows
from gateleg.apps.delphi.opinions.stage import analyse
from tests.apps.delphi.real import NAMES, needs_real_conversations, real_conversation

VOTES = """timestamp,datetime,comment-id,voter-id,vote
1500000000,x,0,1,1
1500000001,x,0,2,-1
1500000002,x,1,2,0
"""
COMMENTS = '''timestamp,datetime,comment-id,author-id,agrees,disagrees,moderated,comment-body
1500000000,x,1,2,0,0,-1,"Two lines,
and ""quotes"""
1500000000,x,0,1,1,1,1,Plain
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "votes.csv").write_text(VOTES)
    (tmp_path / "comments.csv").write_text(COMMENTS)
    return tmp_path


def read(folder: Path, **more: str) -> Conversation:
    files: dict[str, Any] = {name: folder / file for name, file in more.items()}
    return read_export(folder / "votes.csv", folder / "comments.csv", **files)


def test_an_export_is_read(folder: Path) -> None:
    conversation = read(folder)
    assert conversation.conversation_id == folder.name
    assert conversation.votes.choices.tolist() == [Choice.AGREE, Choice.DISAGREE, Choice.PASS]
    assert [comment.body for comment in conversation.comments] == ["Plain", 'Two lines,\nand "quotes"']
    assert [comment.moderated for comment in conversation.comments] == [1, -1]
    assert conversation.comments[0].created_at is not None
    assert conversation.comments[0].created_at.year == 2017


def test_seconds_and_milliseconds_are_the_same_moment(folder: Path) -> None:
    seconds = read(folder).votes.times.tolist()
    (folder / "votes.csv").write_text(VOTES.replace(",x,", "000,x,"))
    assert read(folder).votes.times.tolist() == seconds == [1_500_000_000_000, 1_500_000_001_000, 1_500_000_002_000]


def test_columns_may_come_in_any_order_and_more_may_be_there(folder: Path) -> None:
    (folder / "votes.csv").write_text("\ufeffVote,Voter_ID,important,Comment_ID,Timestamp\n1,4,true,0,1500000000\n", encoding="utf-8")
    votes = read(folder).votes
    assert (votes.participants.tolist(), votes.comments.tolist(), votes.choices.tolist()) == ([4], [0], [1])


def test_missing_columns_are_explained(folder: Path) -> None:
    (folder / "votes.csv").write_text("timestamp,voter-id,comment-id\n1,1,0\n")
    with pytest.raises(
        MissingColumns, match=r"votes.csv has no column 'vote' \(1 agree, -1 disagree, 0 pass\); the first line has"
    ) as caught:
        read(folder)
    assert caught.value.code == "missing-columns"


def test_a_file_without_a_line_has_no_columns(folder: Path) -> None:
    (folder / "comments.csv").write_text("")
    with pytest.raises(MissingColumns, match="the first line has nothing"):
        read(folder)


def test_every_bad_row_is_named_by_the_line_where_it_begins(folder: Path) -> None:
    (folder / "comments.csv").write_text(COMMENTS + "1500000000,x,nine,1,1,1,1,Bad id\n1500000000,x,0,1,1,1,1,Again\n")
    (folder / "votes.csv").write_text(VOTES + "1500000003,x,0,3,2\nlater,x,0,3,1\n1500000003,x\n")
    with pytest.raises(UnreadableRows) as caught:
        read(folder)
    assert [str(problem) for problem in caught.value.problems] == [
        "comments.csv, line 5: comment-id is 'nine', not a whole number",
        "comments.csv, line 6: comment 0 appears on an earlier line too",
        "votes.csv, line 5: vote is 2, not one of -1, 0, 1",
        "votes.csv, line 6: timestamp is 'later', not a whole number",
        "votes.csv, line 7: it has 2 columns; at least 5 are needed",
    ]


def test_only_the_first_hundred_problems_are_kept(folder: Path) -> None:
    (folder / "votes.csv").write_text(VOTES + "1500000003,x,0,3,7\n" * 250)
    with pytest.raises(UnreadableRows, match=r"250 rows cannot be read.*and 245 more") as caught:
        read(folder)
    assert (len(caught.value.problems), caught.value.count) == (100, 250)


def test_a_batch_with_numbers_from_a_spreadsheet_is_read(folder: Path) -> None:
    (folder / "votes.csv").write_text(VOTES + "1500000003.0,x,0,3.0,-1.0\n")
    assert read(folder).votes.choices.tolist()[-1] == Choice.DISAGREE


@pytest.mark.parametrize("row", ["-5,x,0,3,1", "1500000003,x,0,-3,1", "1500000003,x,0,99999999999999999999,1", "9" * 18 + ",x,0,3,1"])
def test_numbers_that_cannot_be_are_problems(folder: Path, row: str) -> None:
    (folder / "votes.csv").write_text(VOTES + row + "\n")
    with pytest.raises(UnreadableRows, match=r"votes.csv, line 5"):
        read(folder)


def test_a_column_that_is_there_twice_is_not_chosen_from(folder: Path) -> None:
    (folder / "votes.csv").write_text("timestamp,comment-id,voter-id,vote,Vote\n1500000000,0,1,1,-1\n")
    with pytest.raises(UnreadableFile, match=r"votes.csv has more than one column 'vote'"):
        read(folder)


def test_a_comment_that_no_item_could_hold_is_told_by_its_line(folder: Path) -> None:
    (folder / "comments.csv").write_text(COMMENTS + f"1500000000,x,5,1,1,1,1,{'é' * 60_000}\n")
    with pytest.raises(UnreadableRows, match=r"comments.csv, line 5: the comment has 120,000 bytes; at most 100,000 are allowed"):
        read(folder)


def test_two_files_are_read_at_once(folder: Path) -> None:
    (folder / "summary.csv").write_text(f"topic,{'x' * 300_000}\n" * 2)
    with open_text(folder / "summary.csv") as one, open_text(folder / "summary.csv") as two:
        first, second = records(one, "one"), records(two, "two")
        next(first)
        next(second)
        assert (len(list(first)), len(list(second))) == (1, 1)


def test_a_quote_that_is_never_closed_is_no_comment(folder: Path) -> None:
    (folder / "comments.csv").write_text(COMMENTS + '1500000000,x,5,1,1,1,1,"never closed\n')
    with pytest.raises(UnreadableFile, match="the row that begins on line 5"):
        read(folder)


def test_a_text_with_commas_but_without_quotes_is_a_problem(folder: Path) -> None:
    (folder / "comments.csv").write_text(COMMENTS + "1500000000,x,5,1,1,1,1,one, two\n")
    with pytest.raises(UnreadableRows, match="put texts with commas in quotes"):
        read(folder)


def test_other_encodings_are_refused(folder: Path) -> None:
    (folder / "comments.csv").write_bytes(COMMENTS.replace("Plain", "Café").encode("latin-1"))
    with pytest.raises(UnreadableFile, match=r"comments.csv is not UTF-8"):
        read(folder)


def test_a_file_that_is_not_there_is_named(folder: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"nothing\.csv cannot be opened"):
        read_export(folder / "nothing.csv", folder / "comments.csv")


def test_votes_on_comments_that_nobody_has_written_are_refused(folder: Path) -> None:
    (folder / "votes.csv").write_text(VOTES + "1500000003,x,77,3,1\n")
    with pytest.raises(UnreadableFile, match=r"votes on 1 comments that are not in comments.csv: 77"):
        read(folder)


def test_flags_add_what_exports_leave_out(folder: Path) -> None:
    (folder / "flags.csv").write_text("comment-id,is-meta,moderated\n0,true,\n1,no,1\n")
    (folder / "people.csv").write_text("voter-id,moderated\n2,-1\n1,0\n")
    conversation = read(folder, flags="flags.csv", participants="people.csv")
    assert [(comment.is_meta, comment.moderated) for comment in conversation.comments] == [(True, 1), (False, 1)]
    assert conversation.removed_participants == {2}


def test_flags_about_nothing_are_problems(folder: Path) -> None:
    (folder / "flags.csv").write_text("comment-id,is-meta\n9,true\n0,perhaps\n")
    with pytest.raises(UnreadableRows, match=r"there is no comment 9.*'perhaps', neither true nor false"):
        read(folder, flags="flags.csv")


def test_a_summary_may_hold_commas_and_lines(folder: Path) -> None:
    (folder / "summary.csv").write_text(
        'topic,Lunch, or not\nurl,https://pol.is/2demo\nconversation-description,"First\nsecond"\nvoters,3\n'
    )
    assert read_summary(folder / "summary.csv")["conversation-description"] == "First\nsecond"
    conversation = read(folder, summary="summary.csv")
    assert (conversation.conversation_id, conversation.topic, conversation.description) == ("2demo", "Lunch, or not", "First\nsecond")
    assert conversation.summary["voters"] == "3"


def test_what_a_summary_says_beyond_measure_is_cut_off(folder: Path) -> None:
    (folder / "summary.csv").write_text(f"topic,{'t' * 5_000}\nconversation-description,{'d' * 500_000}\n")
    found = read(folder, summary="summary.csv")
    assert (len(found.topic), len(found.description), found.topic[-2:]) == (1_000, 20_000, "t…")


def test_batches_of_any_size_give_the_same_votes(folder: Path) -> None:
    for size in (1, 2, 100):
        conversation = read_export(folder / "votes.csv", folder / "comments.csv", batch_size=size)
        assert conversation.votes.participants.tolist() == [1, 2, 2]


@needs_real_conversations
@pytest.mark.parametrize("name", NAMES)
def test_agreement_is_read_as_agreement(name: str) -> None:
    """The export counts agreement and disagreement itself, re-votes included."""
    import csv

    from tests.apps.delphi.real import FOLDER

    votes = real_conversation(name).votes
    with (FOLDER / name / "comments.csv").open(encoding="utf-8", newline="") as file:
        counted = [(int(row["comment-id"]), int(row["agrees"]), int(row["disagrees"])) for row in csv.DictReader(file)]
    right = sum(
        (
            int(((votes.comments == number) & (votes.choices == Choice.AGREE)).sum()),
            int(((votes.comments == number) & (votes.choices == -1)).sum()),
        )
        == (agrees, disagrees)
        for number, agrees, disagrees in counted
    )
    assert right >= len(counted) - 3


def test_a_comment_that_nearly_all_agree_with_is_never_reported_the_other_way_round(folder: Path) -> None:
    rows = "".join(
        f"1500000000,x,0,{person},{1 if person % 20 else -1}\n1500000000,x,1,{person},{-1 if person % 2 else 1}\n" for person in range(60)
    )
    (folder / "votes.csv").write_text("timestamp,datetime,comment-id,voter-id,vote\n" + rows)
    (folder / "comments.csv").write_text(COMMENTS.replace(",-1,", ",1,"))
    conversation = read(folder)
    opinions = analyse(conversation.votes, conversation.comments)
    assert [found.comment_id for found in opinions.consensus.agree] == [0]
    assert opinions.consensus.disagree == ()
    assert opinions.pca.center[0] == pytest.approx(0.9)
    assert all(found.side == "agree" for group in opinions.representatives.values() for found in group if found.comment_id == 0)


COUNTED = "comment-id,agrees,disagrees,comment-body\n0,9,1,Yes\n1,2,8,No\n"


def _cast(agree: int) -> str:
    sides = [(0, 9, 1), (1, 2, 8)]
    rows = [
        (comment, agree if place < agrees else -agree, place) for comment, agrees, disagrees in sides for place in range(agrees + disagrees)
    ]
    return "timestamp,comment-id,voter-id,vote\n" + "".join(f"1500000000,{comment},{person},{vote}\n" for comment, vote, person in rows)


def test_votes_with_the_opposite_sign_are_given_away_by_the_counts_of_the_comments(folder: Path) -> None:
    (folder / "comments.csv").write_text(COUNTED)
    (folder / "votes.csv").write_text(_cast(-1))
    with pytest.raises(InvertedVotes, match="-1 means agreement"):
        read(folder)
    turned = read_export(folder / "votes.csv", folder / "comments.csv", inverted=True)
    assert int((turned.votes.choices == 1).sum()) == 11
    (folder / "votes.csv").write_text(_cast(1))
    assert int((read(folder).votes.choices == 1).sum()) == 11
    with pytest.raises(InvertedVotes, match="as usual"):
        read_export(folder / "votes.csv", folder / "comments.csv", inverted=True)
