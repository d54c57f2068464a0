"""Moderators see suggestions with their reasons, and decide."""

from dataclasses import replace
from pathlib import Path

import httpx

from gateleg.apps.delphi.application import application
from gateleg.apps.delphi.runs.run_tables import StoredComment
from gateleg.apps.delphi.service import find_upload, latest_run, upload_conversation
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.jobs import JobStatus, Submission
from gateleg.web.app import create_app
from tests.apps.delphi.served import conversation
from tests.apps.delphi.test_work import worked


async def test_suggestions_are_shown_with_reasons_and_marked_comments_leave_the_groups(tmp_path: Path) -> None:
    settings = Settings(store="embedded::memory:", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    bodies = {2: "I live in a rural area", 3: "I am 55 years old or older"}
    shown = conversation()
    shown = replace(shown, comments=[replace(one, body=bodies.get(one.comment_id, one.body)) for one in shown.comments])
    async with Host.open(settings, [application]) as host:
        await upload_conversation(host.store, shown, group="planners")
        tokens = {
            name: (await host.keys.create(name, role, groups=groups)).token
            for name, role, groups in (("member", Role.MEMBER, ["planners"]), ("viewer", Role.VIEWER, []))
        }
        transport = httpx.ASGITransport(create_app(host, console=False), client=("127.0.0.1", 50_000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000/api/delphi/conversations/town/") as client:
            heads = {name: {"authorization": f"Bearer {token}"} for name, token in tokens.items()}
            listed = (await client.get("self-descriptions", headers=heads["member"])).json()
            assert listed == {"items": [], "next": None, "without": None}

            job = await worked(host.queue, Submission("FULL_PIPELINE", {}, subject="town"))
            assert job.status is JobStatus.COMPLETED
            listed = (await client.get("self-descriptions", headers=heads["viewer"])).json()
            found = {one["comment_id"]: one for one in listed["items"]}
            assert {number: found[number]["kind"] for number in bodies} == {2: "life", 3: "identity"}
            assert "“I live in the countryside.”" in found[2]["reason"]
            assert sum(listed["without"]["sizes"]) > 0

            marks = {"comments": [2, 3]}
            assert (await client.post("self-descriptions", json=marks, headers=heads["viewer"])).status_code == 403
            assert (await client.post("self-descriptions", json={"comments": [10**6]}, headers=heads["member"])).status_code == 404
            assert (await client.post("self-descriptions", json=marks, headers=heads["member"])).status_code == 200
            upload = await find_upload(host.store, "town")
            rows = [row async for row in host.store.query(StoredComment.of_upload, upload_id=upload.upload_id)]
            assert {row.comment_id for row in rows if row.is_meta} == {2, 3, *(one.comment_id for one in shown.comments if one.is_meta)}
            assert upload.n_votes == len(shown.votes.latest())
            listed = (await client.get("self-descriptions", headers=heads["member"])).json()
            assert not {one["comment_id"] for one in listed["items"]} & set(bodies)

            job = await worked(host.queue, Submission("FULL_PIPELINE", {}, subject="town"))
            run = await latest_run(host.store, "town", "REPORT")
            report = await host.objects.get(f"visualizations/town/{run.job_id}/report.html")
            assert b"What participants say about themselves" in report
