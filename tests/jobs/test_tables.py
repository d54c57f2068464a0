"""The names of the queue's tables, and what they have in common."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from gateleg.jobs import Jobs, Queue, Submission, TableNames, TestWorker
from gateleg.jobs.tables.records import tables_named
from gateleg.model import spec_of
from gateleg.store import Store
from tests.jobs.chores import jobs as chores
from tests.jobs.layouts import BROUGHT as DELPHI
from tests.jobs.layouts import PLAIN

OWN = TableNames("ShopJobs", "ShopJobLedger", "ShopJobArchive", "order", "OrderIndex")


def names_in(store: Store) -> set[str]:
    return set(store.transport.call("ListTables", {})["TableNames"])


@pytest.mark.parametrize(
    ("tables", "expected", "attribute", "index"),
    [
        (PLAIN, {"JobQueue", "JobLedger", "JobArchive"}, "subject", "SubjectIndex"),
        (DELPHI, {"DelphiJobQueue", "DelphiJobLedger", "DelphiJobArchive"}, "conversation_id", "ConversationIndex"),
        (OWN, {"ShopJobs", "ShopJobLedger", "ShopJobArchive"}, "order", "OrderIndex"),
    ],
    ids=["plain", "delphi", "own"],
)
def test_a_queue_has_the_tables_that_it_is_given(tables: TableNames, expected: set[str], attribute: str, index: str) -> None:
    with Store.embedded() as store:
        queue = Queue(store, chores, tables=tables)
        queue.ensure_tables()
        assert names_in(store) == expected
        queue.submit(Submission("echo", {"words": ["a"]}, subject="7"))
        (job,) = TestWorker(queue).run()
        (item,) = store.scan(queue.tables.all[0])
        assert (item[attribute], job.subject) == ({"S": "7"}, "7")
        assert [found.job_id for found in queue.jobs_page(subject="7")] == [job.job_id]
        assert queue.tables.job.of_subject(subject="7").requests()[0]["IndexName"] == index
        assert queue.archive_job(job)
        assert [found.job_id for found in queue.archive_page(subject="7")] == [job.job_id]


def test_names_differ_and_nothing_else() -> None:
    words = {PLAIN.subject: DELPHI.subject, PLAIN.subject_index: DELPHI.subject_index}
    for one, other in zip(tables_named(PLAIN).all, tables_named(DELPHI).all, strict=True):
        assert f"Delphi{one.name}" == other.name
        assert {words.get(name, name): kind for name, kind in one.key_types().items()} == other.key_types()
        renamed = [
            replace(index, name=words.get(index.name, index.name), hash=tuple(words.get(n, n) for n in index.hash)) for index in one.indexes
        ]
        assert renamed == list(other.indexes)
        assert [spec.name for spec in one.specs] == [spec.name for spec in other.specs]


def test_prefix_and_table_names_of_a_store_hold_for_every_layout() -> None:
    with Store.embedded(prefix="dev-", table_names={"DelphiJobQueue": "queue"}) as store:
        Queue(store, Jobs(), tables=DELPHI).ensure_tables()
        Queue(store, Jobs()).ensure_tables()
        assert names_in(store) == {
            "queue", "dev-DelphiJobLedger", "dev-DelphiJobArchive", "dev-JobQueue", "dev-JobLedger", "dev-JobArchive",
        }  # fmt: skip


def test_the_same_names_give_the_same_classes() -> None:
    assert tables_named(TableNames("a", "b", "c")) is tables_named(TableNames("a", "b", "c"))
    assert spec_of(tables_named(OWN).job).table is tables_named(OWN).all[0]


class TestAnotherLayout:
    """A queue that is empty while the store has jobs by other names says so."""

    def test_is_told_of_when_it_has_the_jobs(self, caplog: pytest.LogCaptureFixture) -> None:
        with Store.embedded() as store, caplog.at_level(logging.WARNING, "gateleg.jobs"):
            older = Queue(store, chores, tables=DELPHI)
            older.ensure_tables()
            older.submit(Submission("echo"))
            assert caplog.text == ""
            queue = Queue(store, chores)
            queue.ensure_tables()
            assert queue.unread_tables() == ["DelphiJobQueue"]
            assert "the store has jobs in DelphiJobQueue, which this queue does not read" in caplog.text

    def test_is_not_told_of_when_it_has_none(self) -> None:
        with Store.embedded() as store:
            for tables in (DELPHI, PLAIN):
                Queue(store, chores, tables=tables).ensure_tables()
            assert Queue(store, chores).unread_tables() == []

    def test_is_no_reason_to_warn_when_both_have_some(self, caplog: pytest.LogCaptureFixture) -> None:
        with Store.embedded() as store, caplog.at_level(logging.WARNING, "gateleg.jobs"):
            for tables in (DELPHI, PLAIN):
                queue = Queue(store, chores, tables=tables)
                queue.ensure_tables()
                queue.submit(Submission("echo"))
            caplog.clear()
            queue.ensure_tables()
            assert (queue.unread_tables(), caplog.text) == (["DelphiJobQueue"], "")

    def test_is_read_beside_its_own(self) -> None:
        with Store.embedded(prefix="dev-") as store:
            for tables in (DELPHI, PLAIN):
                Queue(store, chores, tables=tables).ensure_tables()
            Queue(store, chores, tables=DELPHI).submit(Submission("echo"))
            assert Queue(store, chores).unread_tables() == ["dev-DelphiJobQueue"]
            assert Queue(store, chores, further=[DELPHI]).unread_tables() == []

    def test_of_another_installation_is_none_of_this_one(self, tmp_path: Path) -> None:
        with Store.embedded(str(tmp_path), prefix="dev-") as other:
            queue = Queue(other, chores, tables=DELPHI)
            queue.ensure_tables()
            queue.submit(Submission("echo"))
            assert Queue(other, chores).unread_tables() == ["dev-DelphiJobQueue"]
        with Store.embedded(str(tmp_path)) as store:
            assert Queue(store, chores).unread_tables() == []
