import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from gateleg.apps.delphi.conversations.files import kind_of, read_conversation
from gateleg.apps.delphi.errors import InvertedVotes, UnreadableFile, UploadTooLarge
from gateleg.apps.delphi.web.uploaded_files import UploadLimits, classify_files
from tests.apps.delphi.test_api import COMMENTS, VOTES
from tests.apps.delphi.workbooks import write_xlsx

BOUNDS = UploadLimits()


def written(folder: Path, files: dict[str, str]) -> list[Path]:
    paths = []
    for number, (name, text) in enumerate(files.items()):
        path = folder / str(number) / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
        paths.append(path)
    return paths


def packed(folder: Path, files: dict[str, str], name: str = "export.zip") -> Path:
    path = folder / "0" / name
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, text in files.items():
            archive.writestr(entry, text)
    return path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (VOTES, "votes"),
        (COMMENTS, "comments"),
        ("comment_id,is_meta\n1,true\n", "flags"),
        ("comment-id,moderated\n1,-1\n", "flags"),
        ("voter-id,moderated\n1,-1\n", "participants"),
        ("\ufefftopic,Trees\nvoters,3\n", "summary"),
        ("participant,group-id,n-comments,n-votes,n-agree,n-disagree,0,1\n", "matrix"),
        ("participant,group-id,n-comments,n-votes,n-important,0,1\n", "other"),
        ("comment-id,comment,total-votes,total-agrees\n", "other"),
        ("comment-id,comment-body,layer0_cluster_id\n", "other"),
        ('{\n  "format": "polis-export/1"\n}\n', "other"),
        ("timestamp;comment-id;voter-id;vote\n", "votes"),
        ("More trees,Fewer cars\n", None),
        ("\n\r\n" + VOTES, "votes"),
        ("", None),
        ('"never closed', None),
    ],
)
def test_a_file_is_what_its_columns_say(tmp_path: Path, text: str, kind: str | None) -> None:
    (path,) = written(tmp_path, {"whatever.txt": text})
    assert kind_of(path) == kind


def test_bytes_that_are_no_text_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe\x00")
    assert kind_of(tmp_path / "a.csv") is None


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_refused_for_that(tmp_path: Path, encoding: str) -> None:
    votes, comments = written(tmp_path, {"votes.csv": VOTES, "comments.csv": ""})
    comments.write_bytes(COMMENTS.replace("comment-body", "comment-body,grüße").encode(encoding))
    with pytest.raises(UnreadableFile, match=r"comments.csv is not UTF-8"):
        read_conversation(classify_files([votes, comments], tmp_path, BOUNDS), "trees")


def test_files_are_told_apart_whatever_they_are_called(tmp_path: Path) -> None:
    found = classify_files(written(tmp_path, {"one.csv": COMMENTS, "two.csv": VOTES}), tmp_path, BOUNDS)
    assert found.votes is not None
    assert found.comments is not None
    assert (found.votes.name, found.comments.name, found.flags) == ("two.csv", "one.csv", None)


def test_an_archive_of_an_export_is_read_and_what_is_not_needed_is_left(tmp_path: Path) -> None:
    files = {
        "x/votes.csv": VOTES,
        "x/comments.csv": COMMENTS,
        "x/summary.csv": "topic,Trees\n",
        "x/participants-votes.csv": "participant\n",
    }
    read = read_conversation(classify_files([packed(tmp_path, files)], tmp_path, BOUNDS), "trees")
    assert (read.conversation_id, read.topic, len(read.votes), len(read.comments)) == ("trees", "Trees", 96, 8)


def test_a_path_in_an_archive_leads_nowhere_else(tmp_path: Path) -> None:
    found = classify_files([packed(tmp_path, {"../../votes.csv": VOTES, "/etc/comments.csv": COMMENTS})], tmp_path, BOUNDS)
    assert all(path is not None and tmp_path in path.parents for path in (found.votes, found.comments))


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"votes.csv": VOTES}, "file of comments is missing"),
        ({"a.csv": "Trees,Cars\nagree,pass\n", "b.csv": "Trees,Cars\nagree,pass\n"}, "are not files of an export"),
        ({"comments.csv": COMMENTS}, "file of votes is missing"),
        ({"a.csv": VOTES, "b.csv": VOTES, "c.csv": COMMENTS}, "Both a.csv and b.csv are files of votes"),
        ({"a.csv": VOTES, "b.csv": COMMENTS, "c.csv": "x,y\n"}, "c.csv is not a file of a conversation"),
        ({}, "file of votes is missing"),
    ],
)
def test_what_is_missing_twice_there_or_something_else_is_refused(tmp_path: Path, files: dict[str, str], why: str) -> None:
    with pytest.raises(UnreadableFile, match=why):
        classify_files(written(tmp_path, files), tmp_path, BOUNDS)


def test_an_archive_that_is_broken_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "a", {"votes.csv": VOTES * 50})
    content = bytearray(path.read_bytes())
    content[40:60] = bytes(20)
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"cannot be unpacked"):
        classify_files([path], tmp_path / "b", BOUNDS)


def test_an_archive_that_was_packed_too_well_is_refused_while_it_is_unpacked(tmp_path: Path) -> None:
    path = packed(tmp_path / "a", {"votes.csv": VOTES + "x" * 50_000_000, "comments.csv": COMMENTS})
    assert path.stat().st_size < 100_000
    with pytest.raises(UploadTooLarge, match="100 times"):
        classify_files([path], tmp_path / "a", BOUNDS)
    assert sum(one.stat().st_size for one in (tmp_path / "a").rglob("*.csv")) < 15_000_000


def test_an_archive_with_too_many_files_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "a", {"votes.csv": VOTES})
    with pytest.raises(UploadTooLarge, match="more than 0 files"):
        classify_files([path], tmp_path / "c", replace(BOUNDS, files=0))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_file_with_too_many_lines_is_refused_packed_or_not(tmp_path: Path, end: str) -> None:
    lines = VOTES.count("\n")
    votes = VOTES.replace("\n", end)
    files = written(tmp_path, {"votes.csv": "", "comments.csv": COMMENTS})
    files[0].write_bytes(votes.encode())
    assert classify_files(files, tmp_path, replace(BOUNDS, rows=lines - 1)).votes == files[0]
    with pytest.raises(UploadTooLarge, match=f"votes.csv has more than {lines - 2} lines"):
        classify_files(files, tmp_path, replace(BOUNDS, rows=lines - 2))
    with pytest.raises(UploadTooLarge, match=f"votes.csv has more than {lines - 2} lines"):
        classify_files([packed(tmp_path / "z", {"votes.csv": votes})], tmp_path / "z", replace(BOUNDS, rows=lines - 2))


MATRIX = "participant,group-id,n-comments,n-votes,n-agree,n-disagree,0,1\n4,0,0,2,1,1,1,-1\n9,1,0,1,0,0,,0\n"


def test_all_files_of_a_newer_export_are_taken_and_those_that_say_nothing_new_left(tmp_path: Path) -> None:
    files = {
        "votes.csv": VOTES.replace("vote\n", "vote,important\n").replace("1\n", "1,0\n"),
        "comments.csv": COMMENTS,
        "summary.csv": "topic,Trees\nvote-convention,agree=+1;disagree=-1;pass=0;format=polis-export/1\n",
        "participant-votes.csv": MATRIX,
        "participant-importance.csv": "participant,group-id,n-comments,n-votes,n-important,0\n",
        "comment-groups.csv": "comment-id,comment,total-votes\n",
        "comment-clusters.csv": "comment-id,comment-body,layer0_cluster_id\n",
        "format.json": '{\n  "format": "polis-export/1"\n}\n',
    }
    read = read_conversation(classify_files(written(tmp_path, files), tmp_path, BOUNDS), "trees")
    assert (read.topic, len(read.votes), len(read.comments)) == ("Trees", 96, 8)


def test_a_declared_sign_is_held_to(tmp_path: Path) -> None:
    files = {"v.csv": VOTES, "c.csv": COMMENTS, "s.csv": "topic,Trees\nvote-convention,agree=-1;disagree=+1;pass=0\n"}
    received = classify_files(written(tmp_path, files), tmp_path, BOUNDS)
    with pytest.raises(InvertedVotes, match=r"declares that -1 means agreement in v\.csv") as refused:
        read_conversation(received, "trees")
    assert "inverted=true" in str(refused.value.fix)
    straight = read_conversation(replace(received, summary=None), "trees").votes
    assert (read_conversation(received, "trees", inverted=True).votes.choices == -straight.choices).all()


def test_a_spreadsheet_alone_is_a_conversation(tmp_path: Path) -> None:
    book = write_xlsx(tmp_path / "survey.xlsx", [["More trees", "Fewer cars"], [4, 1], [2, 4]])
    received = classify_files([book], tmp_path, BOUNDS)
    assert (received.votes, received.answers) == (None, book)
    with pytest.raises(UnreadableFile, match="does not show how many points"):
        read_conversation(received, "trees", "Trees")
    read = read_conversation(received, "trees", "Trees", scale=4)
    assert (read.conversation_id, read.topic, read.votes.choices.tolist()) == ("trees", "Trees", [1, -1, -1, 1])


def test_a_matrix_of_votes_takes_its_texts_from_the_comments(tmp_path: Path) -> None:
    received = classify_files(written(tmp_path, {"participant-votes.csv": MATRIX, "comments.csv": COMMENTS}), tmp_path, BOUNDS)
    read = read_conversation(received, "trees")
    assert sorted(set(read.votes.participants.tolist())) == [4, 9]
    # Also the comments that nobody voted on.
    assert [one.comment_id for one in read.comments] == list(range(len(COMMENTS.splitlines()) - 1))
