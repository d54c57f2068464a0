from typing import Any

from gateleg.host.tables import AuditEntry
from gateleg.web.console.settings.page import AUDIT_COLUMNS as COLUMNS
from gateleg.web.console.settings.page import entry_row
from tests.web.console.jobs.samples import NOW, number


def entry(**values: Any) -> AuditEntry:
    return AuditEntry(**{"day": "2026-03-01", "at": NOW, "actor": "ana", "action": "job.cancel", **values})


def test_what_was_done_to_a_job_leads_to_it() -> None:
    row = entry_row(entry(target=str(number(1)), details={"reason": "late", "force": True}))
    assert row.cells["target"] == {"t": "link", "text": "00000000", "href": f"/jobs/{number(1)}"}
    assert row.cells["details"] == {"t": "meta", "text": "reason: late, force: True"}
    assert set(row.cells) == {column.key for column in COLUMNS}


def test_what_was_done_to_something_else_names_it() -> None:
    assert entry_row(entry(action="queue.pause", target="media")).cells["target"] == {"t": "id", "full": "media", "short": "media"}
    assert entry_row(entry(action="session.begin")).cells["target"] is None
