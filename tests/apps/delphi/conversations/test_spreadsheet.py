import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from gateleg.apps.delphi.conversations.exports import read_export
from gateleg.apps.delphi.conversations.spreadsheet import as_export, read_spreadsheet
from gateleg.apps.delphi.errors import InvertedVotes, UnreadableFile, UnreadableRows
from tests.apps.delphi.real import FOLDER, needs_real_conversations, real_conversation
from tests.apps.delphi.workbooks import write_xlsx


def sheet(folder: Path, text: str) -> Path:
    path = folder / "answers.csv"
    path.write_text(text, encoding="utf-8")
    return path


def choices(folder: Path, text: str, scale: int | None = None) -> dict[tuple[int, int], int]:
    votes = read_spreadsheet(sheet(folder, text), scale=scale).votes
    return {
        (person, comment): int(choice)
        for person, comment, choice, _ in zip(
            votes.participants.tolist(), votes.comments.tolist(), votes.choices.tolist(), votes.times.tolist(), strict=True
        )
    }


def test_columns_are_statements_and_rows_are_people(tmp_path: Path) -> None:
    found = read_spreadsheet(
        sheet(tmp_path, 'Timestamp,Name,More trees,"Fewer cars, please"\n1/2/2026,Ann,agree,\n2/2/2026,Bo,Disagree,unsure\n')
    )
    assert [(one.comment_id, one.body) for one in found.comments] == [(0, "More trees"), (1, "Fewer cars, please")]
    assert len(found.votes) == 3
    assert "Ann" not in repr(found)


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        ("Strongly agree", 1),
        ("tend to disagree", -1),
        ("Neither agree nor disagree", 0),
        ("5 - Strongly agree", 1),
        ("Don’t know", 0),
        ("YES", 1),
    ],
)
def test_answers_may_be_words(tmp_path: Path, answer: str, choice: int) -> None:
    assert choices(tmp_path, f"A\n{answer}\n") == {(0, 0): choice}


def test_points_of_a_likert_scale_agree_above_its_middle(tmp_path: Path) -> None:
    found = choices(tmp_path, "A,B,C,D,E,F\n1,2,3,4,5,\n")
    assert found == {(0, 0): -1, (0, 1): -1, (0, 2): 0, (0, 3): 1, (0, 4): 1}
    assert choices(tmp_path, "A,B,C\n3,4,5\n", scale=7) == {(0, 0): -1, (0, 1): 0, (0, 2): 1}
    assert choices(tmp_path, "A,B,C,D\n1,2,3,4\n", scale=4) == {(0, 0): -1, (0, 1): -1, (0, 2): 1, (0, 3): 1}


def test_points_around_nought_need_no_scale(tmp_path: Path) -> None:
    assert choices(tmp_path, "A,B,C\n-1,0,1\n") == {(0, 0): -1, (0, 1): 0, (0, 2): 1}
    assert choices(tmp_path, "A,B,C\n-2,0,1.0\n") == {(0, 0): -1, (0, 1): 0, (0, 2): 1}


def test_a_scale_that_the_answers_do_not_tell_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match=r"are from 1 to 4.*--scale"):
        read_spreadsheet(sheet(tmp_path, "A,B\n1,4\n"))


def test_answers_that_are_none_are_told_by_line_and_nothing_is_loaded(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRows, match=r"line 3.*'Trees'.*'maybe tomorrow'"):
        read_spreadsheet(sheet(tmp_path, "Trees,Cars\nagree,pass\nmaybe tomorrow,agree\n"))
    with pytest.raises(UnreadableRows, match="6 is not on the scale from 1 to 5"):
        read_spreadsheet(sheet(tmp_path, "A,B\n6,5\n"), scale=5)


def test_what_is_made_of_a_spreadsheet_is_read_like_an_export(tmp_path: Path) -> None:
    found = read_spreadsheet(sheet(tmp_path, "A,=B\nagree,pass\ndisagree,\n"))
    for name, text in as_export(found).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    again = read_export(tmp_path / "votes.csv", tmp_path / "comments.csv")
    assert [one.body for one in again.comments] == ["A", "=B"]
    assert sorted(zip(again.votes.participants.tolist(), again.votes.choices.tolist(), strict=True)) == [(0, 0), (0, 1), (1, -1)]


def test_columns_of_numbers_need_their_texts(tmp_path: Path) -> None:
    path = sheet(tmp_path, "participant,group-id,n-votes,7,9\n0,1,2,1,-1\n")
    with pytest.raises(UnreadableFile, match="--comments"):
        read_spreadsheet(path)
    texts = tmp_path / "comments.csv"
    texts.write_text("comment-id,comment-body\n7,Trees\n9,Cars\n", encoding="utf-8")
    found = read_spreadsheet(path, comments=texts)
    assert [(one.comment_id, one.body) for one in found.comments] == [(7, "Trees"), (9, "Cars")]
    texts.write_text("comment-id,comment-body\n7,Trees\n", encoding="utf-8")
    with pytest.raises(UnreadableFile, match="comment 9"):
        read_spreadsheet(path, comments=texts)


COMMENTS = """timestamp,comment-id,author-id,moderated,is-meta,comment-body
1600000000,7,3,-1,0,Zorblatt
1600000060,9,4,1,1,I am a farmer
1600000120,12,5,0,0,Nobody has voted on this
"""


def test_a_matrix_carries_all_that_its_comments_say(tmp_path: Path) -> None:
    """Moderation above all: without it, rejected comments are in the report."""
    path = sheet(tmp_path, "participant,group-id,n-votes,7,9\n0,1,2,1,-1\n4,1,2,0,1\n")
    (tmp_path / "comments.csv").write_text(COMMENTS, encoding="utf-8")
    (tmp_path / "participants.csv").write_text("voter-id,moderated\n4,-1\n", encoding="utf-8")
    (tmp_path / "flags.csv").write_text("comment-id,moderated\n12,-1\n", encoding="utf-8")
    (tmp_path / "summary.csv").write_text("topic,Farms\n", encoding="utf-8")
    found = read_spreadsheet(
        path,
        comments=tmp_path / "comments.csv",
        participants=tmp_path / "participants.csv",
        flags=tmp_path / "flags.csv",
        summary=tmp_path / "summary.csv",
    )
    assert [(one.moderated, one.is_meta, one.author_id) for one in found.comments] == [(-1, False, 3), (1, True, 4), (-1, False, 5)]
    assert all(one.created_at for one in found.comments)
    assert (found.removed_participants, found.topic) == (frozenset({4}), "Farms")


def test_what_is_converted_is_the_same_conversation(tmp_path: Path) -> None:
    path = sheet(tmp_path, "participant,group-id,n-votes,7,9\n0,1,2,1,-1\n4,1,2,0,1\n")
    (tmp_path / "comments.csv").write_text(COMMENTS, encoding="utf-8")
    (tmp_path / "participants.csv").write_text("voter-id,moderated\n4,-1\n", encoding="utf-8")
    found = read_spreadsheet(path, comments=tmp_path / "comments.csv", participants=tmp_path / "participants.csv")
    for rejected in (False, True):
        out = tmp_path / str(rejected)
        out.mkdir()
        for name, text in as_export(replace(found, topic="Farms"), with_rejected=rejected).items():
            (out / name).write_text(text, encoding="utf-8")
        again = read_export(out / "votes.csv", out / "comments.csv", participants=out / "participants.csv", summary=out / "summary.csv")
        expected = [one if rejected or one.moderated != -1 else replace(one, body="") for one in found.comments]
        assert again.comments == expected
        assert (again.removed_participants, again.topic, len(again.votes)) == (frozenset({4}), "Farms", 4)


def test_statements_in_columns_can_be_rejected_by_their_positions(tmp_path: Path) -> None:
    path = sheet(tmp_path, "Trees,Cars\nagree,pass\n")
    (tmp_path / "flags.csv").write_text("comment-id,moderated\n1,-1\n", encoding="utf-8")
    assert [one.moderated for one in read_spreadsheet(path, flags=tmp_path / "flags.csv").comments] == [0, -1]
    (tmp_path / "flags.csv").write_text("comment-id,moderated\n2,-1\n", encoding="utf-8")
    with pytest.raises(UnreadableRows, match="there is no comment 2"):
        read_spreadsheet(path, flags=tmp_path / "flags.csv")
    (tmp_path / "comments.csv").write_text(COMMENTS, encoding="utf-8")
    with pytest.raises(UnreadableFile, match=r"columns of answers.csv are statements.*flags"):
        read_spreadsheet(path, comments=tmp_path / "comments.csv")


def test_numbers_of_a_matrix_may_be_inverted_and_are_checked_against_the_counts(tmp_path: Path) -> None:
    path = sheet(tmp_path, "participant,group-id,7\n0,1,-1\n4,1,-1\n5,1,1\n")
    (tmp_path / "comments.csv").write_text("comment-id,agrees,disagrees,comment-body\n7,2,1,Trees\n", encoding="utf-8")
    with pytest.raises(InvertedVotes, match="opposite sign"):
        read_spreadsheet(path, comments=tmp_path / "comments.csv")
    found = read_spreadsheet(path, comments=tmp_path / "comments.csv", inverted=True)
    assert found.votes.choices.tolist() == [1, 1, -1]
    words = sheet(tmp_path, "Trees,Cars\nagree,1\n")
    assert read_spreadsheet(words, inverted=True).votes.choices.tolist() == [1, -1]


@needs_real_conversations
def test_a_matrix_that_polis_exports_has_the_votes_of_the_other_export() -> None:
    name = "15-per-hour-seattle"
    conversation = real_conversation(name)
    found = read_spreadsheet(FOLDER / name / "participants-votes.csv", comments=FOLDER / name / "comments.csv")
    assert found.comments == conversation.comments
    cast = conversation.votes
    latest = {}
    for _, person, comment, choice in sorted(
        zip(cast.times.tolist(), cast.participants.tolist(), cast.comments.tolist(), cast.choices.tolist(), strict=True)
    ):
        latest[person, comment] = choice
    votes = zip(found.votes.participants.tolist(), found.votes.comments.tolist(), found.votes.choices.tolist(), strict=True)
    same = [latest.get((person, comment)) == choice for person, comment, choice in votes]
    assert len(same) == len(latest)
    assert sum(same) > 0.99 * len(same)


def test_a_workbook_is_read_like_its_csv(tmp_path: Path) -> None:
    rows: list[list[str | int | None]] = [["Name", "More trees", "Fewer cars"], ["Ann", 5, 1], ["Bo", 3, None], ["Cy", 1, 5]]
    found = read_spreadsheet(write_xlsx(tmp_path / "survey.xlsx", rows))
    text = "\n".join(",".join("" if cell is None else str(cell) for cell in row) for row in rows)
    same = read_spreadsheet(sheet(tmp_path, text))
    assert found.conversation_id == "survey"
    assert [one.body for one in found.comments] == ["More trees", "Fewer cars"]
    assert found.votes.choices.tolist() == same.votes.choices.tolist() == [1, -1, 0, -1, 1]


@pytest.mark.parametrize("sign", [";", "\t"])
def test_columns_may_be_divided_by_semicolons_or_tabs(tmp_path: Path, sign: str) -> None:
    text = f'"Trees, please"{sign}Cars\nagree{sign}disagree\n'
    found = read_spreadsheet(sheet(tmp_path, text))
    assert [one.body for one in found.comments] == ["Trees, please", "Cars"]
    assert found.votes.choices.tolist() == [1, -1]


def test_answers_have_no_time_that_nobody_gave(tmp_path: Path) -> None:
    found = read_spreadsheet(sheet(tmp_path, "A,B\nagree,agree\npass,disagree\n"))
    assert set(found.votes.times.tolist()) == {0}


def test_a_broken_workbook_and_a_file_of_an_export_are_refused_with_what_to_do(tmp_path: Path) -> None:
    path = write_xlsx(tmp_path / "broken.xlsx", [["A"], ["agree"]])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<nothing")
    with pytest.raises(UnreadableFile, match=r"broken\.xlsx is a broken workbook") as broken:
        read_spreadsheet(path)
    assert "XLSX" in str(broken.value.fix)
    with pytest.raises(UnreadableFile, match="has no rows"):
        read_spreadsheet(write_xlsx(tmp_path / "empty.xlsx", []))
    with pytest.raises(UnreadableFile, match="is a file of an export"):
        read_spreadsheet(sheet(tmp_path, "timestamp,comment-id,voter-id,vote\n1,1,1,1\n"))
    with pytest.raises(UnreadableFile, match="cannot be opened"):
        read_spreadsheet(tmp_path / "nowhere.xlsx")


def test_numbers_that_are_on_no_scale_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="numbers up to 1,200, which are not answers"):
        read_spreadsheet(sheet(tmp_path, "Item,Cost\nBench,1200\nTree,300\n"))


def test_a_file_without_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="has no answers"):
        read_spreadsheet(sheet(tmp_path, "More trees,Fewer cars\n"))


def test_a_scale_of_three_points_goes_from_one_to_three(tmp_path: Path) -> None:
    assert choices(tmp_path, "A,B,C\n1,2,3\n", scale=3) == {(0, 0): -1, (0, 1): 0, (0, 2): 1}


def test_whole_numbers_may_have_decimals_after_a_point_or_a_comma(tmp_path: Path) -> None:
    expected = {(0, 0): 1, (0, 1): -1, (0, 2): 0}
    assert choices(tmp_path, "A;B;C\n5,0;1,0;3,0\n") == choices(tmp_path, "A,B,C\n5.0,1.0,3.0\n") == expected


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        ("stimme eher zu", 1),
        ("Stimme nicht zu", -1),
        ("weiß nicht", 0),
        ("Plutôt d’accord", 1),
        ("pas d'accord", -1),
        ("En desacuerdo", -1),
    ],
)
def test_answers_may_be_words_of_other_languages(tmp_path: Path, answer: str, choice: int) -> None:
    assert choices(tmp_path, f"A,B\n{answer},agree\n")[0, 0] == choice


@pytest.mark.parametrize("title", ["person", "Respondent ID", "user_id", ""])
def test_numbers_of_people_are_not_answers(tmp_path: Path, title: str) -> None:
    assert choices(tmp_path, f"{title},A,B\n1,agree,no\n2,no,agree\n") == {(0, 0): 1, (0, 1): -1, (1, 0): -1, (1, 1): 1}


def test_answers_below_a_heading_of_merged_cells_are_refused(tmp_path: Path) -> None:
    merged = write_xlsx(tmp_path / "survey.xlsx", [["Survey 2026", None, None], ["id", "Parks", "Buses"], [1, "agree", "disagree"]])
    with pytest.raises(UnreadableFile, match=r"Column 2 of survey.xlsx has no title, but line 2 .* unmerge cells"):
        read_spreadsheet(merged)
