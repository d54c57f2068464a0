"""The end of a project, told to webhooks."""

import json
from pathlib import Path
from uuid import UUID, uuid4

from gateleg.apps.mv.tables import Project
from gateleg.apps.mv.webhook_events import COMPLETED, fail_project, send_event
from tests.apps.mv.served import serving


async def test_members_cannot_have_themselves_told_of_the_projects_of_others(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        body = {"url": "https://example.com/hook", "events": ["mv.*"]}
        for caller in ("owner", "stranger", "namesake", "viewer"):
            for where in ("/api/mv/webhooks", "/api/webhooks/mv", "/api/webhooks/mv?tenant=acme"):
                assert (await served[caller].post(where, json=body)).status_code in (403, 404, 405), (caller, where)


async def test_ends_of_projects_are_told_to_the_webhooks_of_their_tenant(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        resources = served.host.resources["mv"]
        await resources.webhooks.create("https://example.com/hook", ["mv.*"])
        await resources.webhooks.create("https://example.com/other", ["mv.*"], tenant="acme")
        made = await served.create(title="Austin")
        project_id = UUID(made["projectId"])
        await fail_project(resources, project_id, "The disk is full.")
        project = await resources.store.get(Project, project_id=project_id, consistent=True)
        await send_event(resources, project, COMPLETED)
        sent = [(one.event, json.loads(one.body)["data"]) for one in await resources.webhooks.deliveries()]
        assert {(event, data["title"], data["errorMessage"]) for event, data in sent} == {
            ("mv.failed", "Austin", "The disk is full."),
            ("mv.completed", "Austin", None),
        }
        assert list(await resources.webhooks.deliveries(tenant="acme")) == []
        assert (project.status.value, project.error_message) == ("failed", "The disk is full.")


async def test_an_end_that_cannot_be_noted_raises_nothing_and_sends_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        resources = served.host.resources["mv"]
        await resources.webhooks.create("https://example.com/hook", ["mv.*"])
        await fail_project(resources, uuid4(), "The project was deleted meanwhile.")
        assert list(await resources.webhooks.deliveries()) == []
