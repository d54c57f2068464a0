"""The end of a project, told to webhooks."""

import json
from pathlib import Path
from uuid import UUID

from gateleg.apps.mv.news import COMPLETED, fail_project, tell
from gateleg.apps.mv.tables import Project
from tests.apps.mv.served import serving


async def test_members_manage_the_webhooks_of_their_tenant(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        body = {"url": "https://example.com/hook", "events": ["mv.*"]}
        made = await served["namesake"].post("/api/mv/webhooks", json=body)
        assert made.status_code == 201, made.text
        listed = (await served["namesake"].get("/api/mv/webhooks")).json()
        assert [hook["url"] for hook in (listed["items"] if isinstance(listed, dict) else listed)] == [body["url"]]
        others = (await served["owner"].get("/api/mv/webhooks")).json()
        assert not (others["items"] if isinstance(others, dict) else others)


async def test_ends_of_projects_are_told_to_the_webhooks_of_their_tenant(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        resources = served.host.resources["mv"]
        await resources.webhooks.create("https://example.com/hook", ["mv.*"])
        await resources.webhooks.create("https://example.com/other", ["mv.*"], tenant="acme")
        made = await served.create(title="Austin")
        project_id = UUID(made["projectId"])
        await fail_project(resources, project_id, "The disk is full.")
        project = await resources.store.get(Project, project_id=project_id, consistent=True)
        await tell(resources, project, COMPLETED)
        sent = [(one.event, json.loads(one.body)["data"]) for one in await resources.webhooks.deliveries()]
        assert {(event, data["title"], data["errorMessage"]) for event, data in sent} == {
            ("mv.failed", "Austin", "The disk is full."),
            ("mv.completed", "Austin", None),
        }
        assert list(await resources.webhooks.deliveries(tenant="acme")) == []
        assert (project.status.value, project.error_message) == ("failed", "The disk is full.")
