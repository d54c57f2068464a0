"""Who may do what with a conversation: the rules alone, and every route x every kind of caller."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateleg.apps.delphi.application import application, make_routes
from gateleg.apps.delphi.rules import may_change, may_see
from gateleg.apps.delphi.service import upload_conversation
from gateleg.host import Principal, Role
from gateleg.host.host import Host
from gateleg.host.settings import Settings
from gateleg.web.app import create_app
from tests.apps.delphi.served import GROUP, Served, conversation, serving
from tests.apps.delphi.test_api import FILES
from tests.web.conftest import client_of

#: What each caller is answered, in the order of WHO, about a conversation of a group, and about one that is open to all.
WHO = ("nobody", "stranger", "member", "viewer", "operator", "admin")
LOOK = ((401, 404, 200, 200, 200, 200), (401, 200, 200, 200, 200, 200))
#: Listing is open to all who are in; what is listed has a test of its own.
ASK = ((401, 200, 200, 200, 200, 200), (401, 200, 200, 200, 200, 200))
RENAME = ((401, 404, 200, 403, 200, 200), (401, 403, 403, 403, 200, 200))
SUBMIT = ((401, 404, 201, 403, 201, 201), (401, 403, 403, 403, 201, 201))
#: What is about all conversations is for operators.
OPERATE = ((401, 403, 403, 403, 201, 201), (401, 403, 403, 403, 201, 201))
#: Marks may be set again and again.
MARK = ((401, 404, 200, 403, 200, 200), (401, 403, 403, 403, 200, 200))
#: Jobs of the callers before still wait.
DELETE_ALL = ((401, 404, 409, 403, 409, 409), (401, 403, 403, 403, 409, 409))
#: The operator deletes the run, and the admin finds nothing more; of a group's conversation, the member has deleted it before.
DELETE = ((401, 404, 200, 404, 404, 404), (401, 403, 403, 403, 200, 404))
#: A name that is taken by what a caller may not know of is taken all the same.
UPLOAD = ((401, 409, 200, 403, 200, 200), (401, 403, 403, 403, 200, 200))

RULES: dict[tuple[str, str], tuple[tuple[int, ...], tuple[int, ...]]] = {
    ("GET", "/conversations"): ASK,
    ("GET", "/conversations/{conversation}"): LOOK,
    ("PUT", "/conversations/{conversation}"): UPLOAD,
    ("POST", "/conversations/{conversation}/files"): UPLOAD,
    ("GET", "/conversations/{conversation}/comments"): LOOK,
    ("GET", "/conversations/{conversation}/runs"): LOOK,
    ("GET", "/conversations/{conversation}/runs/latest"): LOOK,
    ("GET", "/conversations/{conversation}/results/{table}"): LOOK,
    ("POST", "/conversations/{conversation}/jobs"): SUBMIT,
    ("GET", "/runs/{job_id}"): LOOK,
    ("GET", "/runs/{job_id}/results/{table}"): LOOK,
    ("GET", "/runs/{job_id}/results/{table}/{key}"): LOOK,
    ("POST", "/reprocess"): OPERATE,
    ("GET", "/runs/{job_id}/artifacts"): LOOK,
    ("GET", "/runs/{job_id}/atlas"): LOOK,
    ("GET", "/runs/{job_id}/timeline"): LOOK,
    ("GET", "/comparison"): LOOK,
    ("PUT", "/runs/{job_id}/topics/{topic}/name"): RENAME,
    ("GET", "/conversations/{conversation}/self-descriptions"): LOOK,
    ("POST", "/conversations/{conversation}/self-descriptions"): MARK,
    ("DELETE", "/runs/{job_id}"): DELETE,
    ("DELETE", "/conversations/{conversation}"): DELETE_ALL,
}
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("PUT", "/conversations/{conversation}"): FILES | {"group": "others"},
    ("POST", "/conversations/{conversation}/jobs"): {"job_type": "PCA"},
    ("POST", "/conversations/{conversation}/self-descriptions"): {"comments": [0]},
    ("POST", "/reprocess"): {},
    ("PUT", "/runs/{job_id}/topics/{topic}/name"): {"name": "A better name"},
}


@pytest.fixture(params=[GROUP, None], ids=["of a group", "open"])
async def served(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[Served, int]]:
    async with serving(tmp_path, request.param) as served:
        yield served, int(request.param is None)


def routes(served: Served) -> Iterator[tuple[str, str]]:
    for route in make_routes(served.host.resources["delphi"]).routes:
        for method in getattr(route, "methods", ()):
            yield method, getattr(route, "path", "")


def address(served: Served, path: str, job: str) -> str:
    of_run = served.topics if "topics" in path else served.votes
    places = {
        "{conversation}": "town",
        "{table}": "Delphi_CommentExtremity",
        "{key}": "0",
        "{job_id}": job if path.startswith("/jobs") else str(of_run),
        "{topic}": "layer0_0",
    }
    # Only a report has a timeline.
    places |= {"{job_id}": str(served.report)} if path.endswith("/timeline") else {}
    for place, value in places.items():
        path = path.replace(place, value)
    queries = {"/comparison": f"?before={served.votes}&after={served.votes}", "/conversations/town/files": "?group=others"}
    return f"/api/delphi{path}{queries.get(path, '')}"


async def test_every_route_has_a_rule(served: tuple[Served, int]) -> None:
    assert set(routes(served[0])) == set(RULES)


async def test_every_route_answers_every_caller_by_its_rule(served: tuple[Served, int]) -> None:
    host, openness = served
    job = (await host["admin"].post("/api/delphi/conversations/town/jobs", json={"job_type": "PCA"})).json()["job"]["job_id"]
    wrong = []
    for (method, path), rule in RULES.items():
        for caller, expected in zip(WHO, rule[openness], strict=True):
            files = [("file", ("votes.csv", FILES["votes"])), ("file", ("comments.csv", FILES["comments"]))] if "/files" in path else None
            told = await host[caller].request(method, address(host, path, job), json=BODIES.get((method, path)), files=files)
            if told.status_code != expected:
                wrong.append((caller, method, path, told.status_code, expected))
    assert wrong == []


async def test_jobs_are_seen_and_changed_as_their_conversations_are(served: tuple[Served, int]) -> None:
    host, openness = served
    job = (await host["admin"].post("/api/delphi/conversations/town/jobs", json={"job_type": "PCA"})).json()["job"]["job_id"]
    for path in ("", "/tree", "/logs", "/artifacts"):
        told = [(await host[caller].get(f"/api/delphi/jobs/{job}{path}")).status_code for caller in WHO]
        assert told == list(LOOK[openness]), path
    for path in ("/cancel", "/retry", "/tree/cancel"):
        told = [(await host[caller].post(f"/api/delphi/jobs/{job}{path}")).status_code for caller in WHO]
        # Retried once, it waits, and what waits cannot be retried.
        allowed = [status if status != 409 else 200 for status in told]
        assert allowed == list(RENAME[openness]), path
    listed = await host["member"].get("/api/delphi/jobs", params={"subject": "town"})
    assert [one["job_id"] for one in listed.json()["items"]] == [job]


async def test_what_a_caller_may_not_know_of_is_answered_like_what_is_not_there(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        hidden = await served["stranger"].get("/api/delphi/conversations/town")
        absent = await served["stranger"].get("/api/delphi/conversations/tomb")
        assert hidden.status_code == absent.status_code == 404
        assert hidden.text.replace("town", "") == absent.text.replace("tomb", "")
        job = await served["stranger"].get(f"/api/delphi/jobs/{served.votes}")
        submitted = (await served["admin"].post("/api/delphi/conversations/town/jobs", json={"job_type": "PCA"})).json()["job"]["job_id"]
        other = await served["stranger"].get(f"/api/delphi/jobs/{submitted}")
        assert job.text.replace(str(served.votes), "") == other.text.replace(submitted, "")


tenants = st.sampled_from([None, "acme", "zeta"])
principals = st.builds(
    Principal,
    name=st.just("ann"),
    role=st.sampled_from(Role),
    groups=st.frozensets(st.sampled_from(["a", "b"]), max_size=2),
    tenant=tenants,
)
groups = st.sampled_from([None, "a", "b", "c"])


@given(principals, groups, tenants)
def test_who_may_change_a_conversation_may_see_it(principal: Principal, group: str | None, tenant: str | None) -> None:
    assert may_see(principal, group, tenant) or not may_change(principal, group, tenant)


@given(principals, groups, tenants, st.sampled_from(Role))
def test_a_higher_role_takes_nothing_away(principal: Principal, group: str | None, tenant: str | None, role: Role) -> None:
    above = replace(principal, role=max(role, principal.role))
    assert may_see(above, group, tenant) >= may_see(principal, group, tenant)
    assert may_change(above, group, tenant) >= may_change(principal, group, tenant)


@given(principals, groups, tenants)
def test_members_see_nothing_of_another_tenant(principal: Principal, group: str | None, tenant: str | None) -> None:
    member = replace(principal, role=Role.MEMBER)
    if tenant not in (None, member.tenant):
        assert not may_see(member, group, tenant)
    if tenant != member.tenant:
        assert not may_change(member, group, tenant)


async def test_groups_of_one_name_in_two_tenants_are_apart(tmp_path: Path) -> None:
    settings = Settings(store="embedded::memory:", objects=f"dir:{tmp_path}/objects", data=tmp_path)
    async with Host.open(settings, [application]) as host:
        app = create_app(host, console=False)
        clients = {}
        for tenant in ("acme", "zeta"):
            key = await host.keys.create("ann", Role.MEMBER, groups=["council"], tenant=tenant)
            clients[tenant] = client_of(app, token=key.token)
        await upload_conversation(host.store, conversation("theirs"), group="council", tenant="acme")
        await upload_conversation(host.store, conversation("open"), tenant="acme")
        for tenant, names in {"acme": {"theirs", "open"}, "zeta": set[str]()}.items():
            listed = (await clients[tenant].get("/api/delphi/conversations")).json()["items"]
            assert {one["conversation_id"] for one in listed} == names
            for name in ("theirs", "open"):
                answer = await clients[tenant].get(f"/api/delphi/conversations/{name}")
                assert answer.status_code == (200 if name in names else 404)
                begun = await clients[tenant].post(f"/api/delphi/conversations/{name}/jobs", json={"job_type": "PCA"})
                assert begun.status_code == (404 if name not in names else 201 if name == "theirs" else 403), begun.text
        for client in clients.values():
            await client.aclose()


@pytest.mark.parametrize(
    ("job_type", "config"),
    [
        ("UMAP", {"embedding_model": "openai:x@http://127.0.0.1:9/v1"}),
        ("UMAP", {"naming_model": "ollama:llama3.2"}),
        ("REPORT", {"model": "bedrock:x@eu-west-1"}),
        ("REPORT", {"model": "ollama:llama3.2"}),
        ("FULL_PIPELINE", {"stages": [{"stage": "PCA"}, {"stage": "UMAP", "config": {"embedding_model": "openai:x@http://10.0.0.1/v1"}}]}),
    ],
)
async def test_comments_are_sent_to_models_elsewhere_by_operators_only(tmp_path: Path, job_type: str, config: dict[str, Any]) -> None:
    async with serving(tmp_path) as served:
        asked = {"job_type": job_type, "config": config}
        told = {who: await served[who].post("/api/delphi/conversations/town/jobs", json=asked) for who in ("member", "operator")}
        assert {who: answer.status_code for who, answer in told.items()} == {"member": 403, "operator": 201}
        assert told["member"].json()["error"]["code"] == "not-allowed"


async def test_a_member_may_name_the_models_of_the_host(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        config = {"embedding_model": "local:minilm", "naming_model": "local:smollm2"}
        told = await served["member"].post("/api/delphi/conversations/town/jobs", json={"job_type": "UMAP", "config": config})
        assert told.status_code == 201


JOBS = "/api/delphi/conversations/town/jobs"


async def test_a_job_of_a_conversation_has_the_attributes_that_it_is_sent_with(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        first = (await served["member"].post(JOBS, json={"job_type": "PCA"})).json()
        assert first["created"] is True
        sent = {
            "timeout_seconds": 120,
            "max_retries": 7,
            "priority": 66,
            "dependencies": [first["job"]["job_id"]],
            "parent_job_id": first["job"]["job_id"],
            "stage": "second",
            "tags": ["tuesday"],
            "idempotency_key": "once",
        }
        asked = {"job_type": "UMAP", "conversation_id": "town"} | sent
        told = await served["member"].post(JOBS, json=asked)
        assert (told.status_code, told.json()["created"]) == (201, True), told.text
        job = told.json()["job"]
        assert {name: job[name] for name in sent} == sent
        assert job["subject"] == "town"
        again = await served["member"].post(JOBS, json=asked)
        assert (again.status_code, again.json()["created"], again.json()["job"]["job_id"]) == (200, False, job["job_id"])
        other = await served["member"].post(JOBS, json={"job_type": "PCA", "conversation_id": "village"})
        assert (other.status_code, other.json()["error"]["code"]) == (400, "bad-request")


async def test_a_member_names_no_jobs_and_no_queues_of_others(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        secret = await served["operator"].post("/api/jobs", json={"job_type": "PCA", "subject": "elsewhere", "idempotency_key": "once"})
        name = secret.json()["job"]["job_id"]
        for attributes in ({"parent_job_id": name}, {"dependencies": [name]}, {"idempotency_key": "once"}, {"job_id": name}):
            told = await served["member"].post(JOBS, json={"job_type": "PCA"} | attributes)
            assert (told.status_code, told.json()["error"]["code"]) == (404, "job-missing"), told.text
            assert "elsewhere" not in told.text
        for attributes in ({"queue": "mv-renders"}, {"concurrency_key": "theirs"}):
            answers = {who: await served[who].post(JOBS, json={"job_type": "PCA"} | attributes) for who in ("member", "operator")}
            assert {who: answer.status_code for who, answer in answers.items()} == {"member": 403, "operator": 201}
