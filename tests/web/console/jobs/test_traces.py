import pytest

from gateleg.web.console.jobs.job_panels import is_foreign, parts_of

TRACE = """Traceback (most recent call last):
  File "/opt/app/lib/python3.12/site-packages/gateleg/jobs/execution.py", line 88, in run
    result = await handler.handle(context, config)
             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/app/lib/python3.12/asyncio/tasks.py", line 520, in wait_for
    return await fut
  File "/home/ada/shelf/imports.py", line 12, in imported
    raise BadRow(row)
  File "/home/ada/shelf/rows.py", line 3, in check
    assert row
shelf.imports.BadRow: row 7
"""


def test_frames_of_the_application_are_open_and_the_others_folded() -> None:
    head, folded, own = parts_of(TRACE)
    assert head.text.startswith("Traceback")
    assert (head.folded, folded.frames, own.folded) == (False, 2, False)
    assert "wait_for" in folded.text
    assert "^^^" in folded.text
    assert 'shelf/imports.py", line 12' in own.text
    assert own.text.endswith("BadRow: row 7")


def test_the_error_that_is_shown_already_is_not_shown_again() -> None:
    *_, own = parts_of(TRACE, error="BadRow: row 7")
    assert own.text.endswith("assert row")


def test_an_error_that_stands_elsewhere_in_the_trace_stays() -> None:
    assert "".join(part.text for part in parts_of("BadRow: row 7\nthen this", error="BadRow: row 7")) == "BadRow: row 7\nthen this"


def test_what_is_not_a_traceback_is_open() -> None:
    (only,) = parts_of("Segmentation fault\n  at 0x0")
    assert not only.folded


@pytest.mark.parametrize(
    ("path", "foreign"),
    [
        ("/x/site-packages/gateleg/store/store.py", True),
        ("/home/me/gateleg/src/gateleg/jobs/worker.py", True),
        ("/x/site-packages/gateleg/apps/delphi/runs/pipeline.py", False),
        ("/home/me/src/gateleg/cli/demo/work.py", False),
        ("C:\\app\\Lib\\site-packages\\pydantic\\main.py", True),
        ("/usr/lib/python3.11/json/decoder.py", True),
        ("<frozen importlib._bootstrap>", True),
        ("/home/me/gateleg/shop/work.py", False),
    ],
)
def test_whose_file_it_is(path: str, foreign: bool) -> None:
    assert is_foreign(path) is foreign
