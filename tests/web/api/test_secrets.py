"""`/api/secrets`: for admins, and without a value in any answer."""

import pytest

from gateleg.host.host import Host
from tests.web.conftest import Staff

VALUE = "correct horse battery staple"


async def test_a_secret_is_put_listed_and_deleted_and_never_shown(staff: Staff, host: Host, caplog: pytest.LogCaptureFixture) -> None:
    app = host.applications[0].name
    answers = [
        await staff.admin.put(f"/api/secrets/{app}/k", json={"value": VALUE}),
        await staff.admin.put(f"/api/secrets/{app}/k", json={"value": VALUE + "2"}),
        await staff.admin.get(f"/api/secrets/{app}"),
    ]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert answers[2].json()["items"][0]["version"] == 2
    assert await host.secrets.of(app).get("k") == VALUE + "2"
    audit = await staff.admin.get("/api/audit")
    tables = await staff.admin.post(
        "/api/tables/GatelegSecrets/patterns/StoredSecret.of_application", json={"arguments": {"application": app}}
    )
    assert len(tables.json()["items"]) == 1
    assert "sealed" not in tables.text
    for text in (*(answer.text for answer in answers), audit.text, tables.text, caplog.text):
        assert VALUE not in text
    assert (await staff.admin.delete(f"/api/secrets/{app}/k")).status_code == 204
    assert (await staff.admin.delete(f"/api/secrets/{app}/k")).status_code == 404
    assert {entry.action for entry in await host.audit.page()} >= {"secret.put", "secret.delete"}


async def test_a_tenants_secret_is_apart(staff: Staff, host: Host) -> None:
    await staff.admin.put("/api/secrets/host/k?tenant=acme", json={"value": "a"})
    assert (await staff.admin.get("/api/secrets/host")).json()["items"] == []
    assert [one["name"] for one in (await staff.admin.get("/api/secrets/host?tenant=acme")).json()["items"]] == ["k"]


async def test_secrets_are_listed_page_by_page(staff: Staff) -> None:
    for name in ("a", "b", "c"):
        await staff.admin.put(f"/api/secrets/host/{name}", json={"value": "x"})
    first = (await staff.admin.get("/api/secrets/host?limit=2")).json()
    assert [one["name"] for one in first["items"]] == ["a", "b"]
    second = (await staff.admin.get("/api/secrets/host", params={"limit": 2, "cursor": first["next"]})).json()
    assert ([one["name"] for one in second["items"]], second["next"]) == (["c"], None)
    foreign = await staff.admin.get("/api/secrets/host", params={"tenant": "acme", "cursor": first["next"]})
    assert foreign.status_code == 400


async def test_others_than_admins_and_unknown_applications_are_refused(staff: Staff) -> None:
    assert (await staff.operator.get("/api/secrets/host")).status_code == 403
    assert (await staff.operator.put("/api/secrets/host/k", json={"value": "x"})).status_code == 403
    assert (await staff.admin.get("/api/secrets/nobody")).status_code == 404
    refused = await staff.admin.put("/api/secrets/host/k", json={"value": "", "more": VALUE})
    assert refused.status_code == 422
    assert VALUE not in refused.text
