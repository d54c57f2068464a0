import asyncio
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from gateleg.apps.delphi.conversations.files import read_conversation
from gateleg.apps.delphi.errors import MissingColumns, UnreadableFile, UnreadableRows, UploadTooLarge
from gateleg.apps.delphi.web.upload_reader import read_upload
from gateleg.apps.delphi.web.uploaded_files import UploadLimits, classify_files
from tests.apps.delphi.test_api import COMMENTS, VOTES
from tests.apps.delphi.web.test_uploaded_files import written
from tests.apps.delphi.workbooks import write_xlsx

BOUNDS = UploadLimits()


async def test_a_process_reads_what_would_be_read_here(tmp_path: Path) -> None:
    comments = "comment-id,comment-body,author-id,timestamp,moderated,is-meta\n" + "".join(
        f"{number},Böume {number},7,1767571300,1,true\n" for number in range(8)
    )
    files = written(
        tmp_path, {"v.csv": VOTES, "c.csv": comments, "p.csv": "voter-id,moderated\n3,-1\n", "s.csv": "topic,Trees\nvoters,3\n"}
    )
    there = await read_upload(files, tmp_path, BOUNDS, "trees", description="About trees")
    here = read_conversation(classify_files(files, tmp_path, BOUNDS), "trees", description="About trees")
    for name in ("participants", "comments", "choices", "times"):
        mine, theirs = getattr(here.votes, name), getattr(there.votes, name)
        assert (mine.dtype, mine.tolist()) == (theirs.dtype, theirs.tolist())
    assert vars_of(there) == vars_of(here)
    assert list(there.comments) == list(here.comments)


def vars_of(conversation: object) -> dict[str, object]:
    names = ("conversation_id", "topic", "description", "removed_participants", "summary")
    return {name: getattr(conversation, name) for name in names}


async def test_what_is_wrong_with_files_is_told_as_if_they_were_read_here(tmp_path: Path) -> None:
    votes, comments = written(tmp_path, {"v.csv": f"{VOTES}1767571300,1,1,7\n", "c.csv": COMMENTS})
    with pytest.raises(UnreadableRows) as rows:
        await read_upload([votes, comments], tmp_path, BOUNDS, "trees")
    assert [(one.file, one.line) for one in rows.value.problems] == [("v.csv", 98)]
    with pytest.raises(MissingColumns, match=r"v\.csv has no column"):
        await read_upload([comments, votes], tmp_path, BOUNDS, "trees", kinds=["votes", "comments"])


def many(folder: Path, rows: int) -> list[Path]:
    votes, comments = written(folder, {"v.csv": "", "c.csv": COMMENTS})
    row = b"1767571300,1,1,1\n"
    votes.write_bytes(VOTES.encode() + row * rows)
    return [votes, comments]


async def test_files_that_take_too_much_memory_end_their_process_only(tmp_path: Path) -> None:
    with pytest.raises(UploadTooLarge, match="bytes of memory"):
        await read_upload(many(tmp_path, 50_000), tmp_path, replace(BOUNDS, memory=60_000_000), "trees")


async def test_files_that_take_too_long_end_their_process_only(tmp_path: Path) -> None:
    with pytest.raises(UploadTooLarge, match=r"within 0\.01 seconds"):
        await read_upload(many(tmp_path, 10), tmp_path, replace(BOUNDS, seconds=0.01), "trees")


async def test_an_archive_of_millions_of_equal_votes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("comments.csv", COMMENTS)
        with archive.open("votes.csv", "w") as file:
            file.write(b"timestamp,comment-id,voter-id,vote\n")
            for _ in range(60):
                file.write(b"1767571300,1,1,1\n" * 100_000)
    with pytest.raises(UploadTooLarge):
        await read_upload([path], tmp_path, BOUNDS, "trees")


async def test_a_reader_that_is_not_waited_for_any_more_is_killed(tmp_path: Path) -> None:
    reading = asyncio.ensure_future(read_upload(many(tmp_path, 10), tmp_path, BOUNDS, "trees"))
    await asyncio.wait({reading}, timeout=0.001)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert not (tmp_path / "read.json").exists()


async def test_a_workbook_is_read_in_the_process_with_its_scale(tmp_path: Path) -> None:
    book = write_xlsx(tmp_path / "survey.xlsx", [["More trees", "Fewer cars"], [4, 1], [2, 4]])
    read = await read_upload([book], tmp_path, BOUNDS, "trees", scale=4)
    assert read.votes.choices.tolist() == [1, -1, -1, 1]
    with pytest.raises(UnreadableFile, match="does not show how many points"):
        await read_upload([book], tmp_path, BOUNDS, "trees")
