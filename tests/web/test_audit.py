import asyncio
import logging

import pytest

from gateleg.host import audit as audits
from gateleg.host.audit import Audit
from gateleg.host.principal import Principal, Role
from gateleg.host.tables import audit_table
from gateleg.store import AsyncStore


async def test_an_entry_that_cannot_be_written_is_logged_and_written_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(audits, "_DELAYS", (0.01,) * 500)
    async with AsyncStore.embedded() as store:
        audit = Audit(store, days=1)
        with caplog.at_level(logging.ERROR, "gateleg.web"):
            await audit.note(Principal("ann", Role.ADMIN), "job.submit", "a job")
        assert "audit entry not written yet: job.submit a job by ann" in caplog.text
        await store.ensure_tables(audit_table)
        async with asyncio.timeout(30):
            while not (found := (await audit.page()).items):
                await asyncio.sleep(0)
        assert [(entry.actor, entry.action, entry.target) for entry in found] == [("ann", "job.submit", "a job")]
