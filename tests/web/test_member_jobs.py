"""The jobs of an application for its members: two tenants, two users with the same names in each, and nothing crosses."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from fastapi import FastAPI

from gateleg.host import Application, Principal, Resources, submitted_by
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.jobs import Job, JobContext, Jobs, ManualClock, Retry, Submission
from gateleg.jobs.tables import ArchivedJob
from gateleg.web.app import create_app
from tests.web.conftest import client_of, run_all
from tests.web.streaming import reading

PEOPLE = [(tenant, name) for tenant in ("north", "south") for name in ("ann", "ben")]
#: Every path of the surface, with the method.
PATHS = [
    ("GET", "/api/films/jobs/{id}"),
    ("GET", "/api/films/jobs/{id}/tree"),
    ("GET", "/api/films/jobs/{id}/logs"),
    ("GET", "/api/films/jobs/{id}/artifacts"),
    ("POST", "/api/films/jobs/{id}/cancel"),
    ("POST", "/api/films/jobs/{id}/tree/cancel"),
    ("POST", "/api/films/jobs/{id}/retry"),
    ("GET", "/events/films/jobs/{id}"),
]


async def render(job: JobContext, config: dict[str, Any]) -> None:
    job.log("rendering")
    job.output("s3_artifacts", f"films/{job.job_id}.mp4")
    if job.job.parent_job_id is None:
        await job.submit(Submission("render", {}, stage="part"))


async def fail(job: JobContext, config: dict[str, Any]) -> None:
    raise ValueError("no light")


def films(sees: Any = None, changes: Any = None) -> Application:
    jobs = Jobs()
    jobs.handler("render")(render)
    jobs.handler("dark", retry=Retry(times=0))(fail)
    return Application(name="films", title="Films", icon="movie", jobs=jobs, sees_job=sees, changes_job=changes)


def others() -> Application:
    jobs = Jobs()
    jobs.handler("other")(fail)
    return Application(name="others", title="Others", icon="movie", jobs=jobs)


@dataclass(frozen=True)
class Cinema:
    """A host with the four people and two of the staff."""

    host: Host
    app: FastAPI
    tokens: dict[tuple[str, str], str]
    clients: dict[tuple[str, str], httpx.AsyncClient]
    viewer: httpx.AsyncClient
    operator: httpx.AsyncClient

    async def submit(self, person: tuple[str, str], job_type: str = "render", **options: Any) -> UUID:
        tenant, name = person
        principal = Principal(name, Role.MEMBER, tenant=tenant)
        return (await self.host.queue.submit(submitted_by(principal, Submission(job_type, {}, **options)))).job.job_id

    async def status(self, client: httpx.AsyncClient, method: str, path: str, job_id: Any) -> int:
        return (await client.request(method, path.format(id=job_id))).status_code


@pytest.fixture
def application() -> Application:
    return films()


@pytest.fixture
async def cinema(settings: Settings, clock: ManualClock, application: Application) -> AsyncIterator[Cinema]:
    async with Host.open(settings, [application, others()], clock=clock, ticks=clock) as host:
        app = create_app(host, console=False)
        tokens = {(tenant, name): (await host.keys.create(name, Role.MEMBER, tenant=tenant)).token for tenant, name in PEOPLE}
        clients = {person: client_of(app, token=token) for person, token in tokens.items()}
        staff = [client_of(app, token=(await host.keys.create(role.word, role)).token) for role in (Role.VIEWER, Role.OPERATOR)]
        yield Cinema(host, app, tokens, clients, *staff)
        for client in (*clients.values(), *staff):
            await client.aclose()


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_nothing_crosses_tenants_or_users(cinema: Cinema, method: str, path: str) -> None:
    for owner in PEOPLE:
        job_id = await cinema.submit(owner, "dark")
        await run_all(cinema.host)
        for person in PEOPLE:
            status = await cinema.status(cinema.clients[person], method, path, job_id)
            assert status == (200 if person == owner else 404), (owner, person)


async def test_lists_hold_ones_own_jobs_alone_page_by_page(cinema: Cinema) -> None:
    own = {person: [str(await cinema.submit(person)) for _ in range(3)] for person in PEOPLE}
    for person, client in cinema.clients.items():
        found: list[str] = []
        cursor = None
        while True:
            answer = (await client.get("/api/films/jobs", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))).json()
            found += [one["job_id"] for one in answer["items"]]
            cursor = answer["next"]
            if cursor is None:
                break
        assert sorted(found) == sorted(own[person])
        assert (await client.get("/api/others/jobs")).json()["items"] == []


@pytest.mark.parametrize(("method", "path"), PATHS)
async def test_the_surface_of_an_application_knows_its_own_job_types_only(cinema: Cinema, method: str, path: str) -> None:
    for client, owner in ((cinema.clients[PEOPLE[0]], PEOPLE[0]), (cinema.operator, PEOPLE[0])):
        assert await cinema.status(client, method, path, await cinema.submit(owner, "other")) == 404
        assert await cinema.status(client, method, path, uuid4()) == 404


async def test_a_member_follows_a_job_with_all_below_it_to_its_files(cinema: Cinema) -> None:
    person = PEOPLE[0]
    client, job_id = cinema.clients[person], await cinema.submit(person)
    await run_all(cinema.host)
    tree = (await client.get(f"/api/films/jobs/{job_id}/tree")).json()
    (child,) = tree["children"]
    detail = (await client.get(f"/api/films/jobs/{child['job_id']}")).json()
    assert (detail["created_by"], detail["status"]) == ("ann", "COMPLETED")
    assert [line["message"] for line in (await client.get(f"/api/films/jobs/{job_id}/logs")).json()["lines"]] == ["rendering"]
    (artifact,) = (await client.get(f"/api/films/jobs/{job_id}/artifacts")).json()["items"]
    assert artifact["key"] == f"films/{job_id}.mp4"
    assert "signature" in artifact["url"] or "?" in artifact["url"]
    async with reading(cinema.app, f"/events/films/jobs/{job_id}", authorization=f"Bearer {cinema.tokens[person]}") as stream:
        assert [event.name for event in await stream.rest()] == ["log", "job", "end"]


async def test_cancelling_and_retrying_are_noted_and_never_by_force(cinema: Cinema) -> None:
    client, job_id = cinema.clients[PEOPLE[1]], await cinema.submit(PEOPLE[1])
    assert (await client.post(f"/api/films/jobs/{job_id}/cancel", json={"force": True})).status_code == 400
    assert (await client.post(f"/api/films/jobs/{job_id}/cancel", json={"reason": "wrong film"})).json()["status"] == "CANCELLED"
    assert (await client.post(f"/api/films/jobs/{job_id}/retry")).json()["status"] == "PENDING"
    noted = [entry.action for entry in (await cinema.host.audit.page(limit=10)).items]
    assert {"films.job.cancel", "films.job.retry"} <= set(noted)


async def test_viewers_look_and_operators_act(cinema: Cinema) -> None:
    job_id = await cinema.submit(PEOPLE[0])
    for method, path in PATHS:
        if path.startswith("/events"):
            continue
        expected = 200 if method == "GET" else 403
        assert await cinema.status(cinema.viewer, method, path, job_id) == expected
    assert await cinema.status(cinema.operator, "POST", "/api/films/jobs/{id}/cancel", job_id) == 200


async def _same_subject(resources: Resources, principal: Principal, job: Job | ArchivedJob) -> bool:
    return job.subject == f"of-{principal.name}" or job.subject == "shared"


class TestRules:
    @pytest.fixture
    def application(self) -> Application:
        return films(_same_subject)

    async def test_a_rule_decides_within_a_tenant_and_never_across(self, cinema: Cinema) -> None:
        ann, ben, south = PEOPLE[0], PEOPLE[1], PEOPLE[2]
        shared = await cinema.submit(ann, subject="shared")
        private = await cinema.submit(ann, subject="of-ann")
        assert await cinema.status(cinema.clients[ben], "GET", PATHS[0][1], shared) == 200
        assert await cinema.status(cinema.clients[ben], "GET", PATHS[0][1], private) == 404
        assert await cinema.status(cinema.clients[south], "GET", PATHS[0][1], shared) == 404
        assert await cinema.status(cinema.clients[south], "GET", PATHS[0][1], private) == 404
        for person, seen in ((ann, 1), (ben, 1), (south, 0)):
            items = (await cinema.clients[person].get("/api/films/jobs", params={"subject": "shared"})).json()["items"]
            assert len(items) == seen

    async def test_seeing_a_job_is_not_changing_it(self, cinema: Cinema) -> None:
        ann, ben = PEOPLE[0], PEOPLE[1]
        shared = await cinema.submit(ann, subject="shared")
        assert await cinema.status(cinema.clients[ben], "POST", PATHS[4][1], shared) == 403
        assert await cinema.status(cinema.clients[ann], "POST", PATHS[4][1], shared) == 200
