"""Models in the host: from the settings to an application's resources, their errors in the envelope, and what they used."""

from collections.abc import AsyncIterator, Iterator
from datetime import date
from pathlib import Path

import httpx
import pytest
from fastapi import APIRouter

from gateleg.ai import Account, ModelSettings, Reply, Script, Usage, UsageDay, User
from gateleg.host import Application, Resources
from gateleg.host.host import Host
from gateleg.host.model_usage import BadPeriod, read_usage
from gateleg.host.principal import Role
from gateleg.host.settings import BadSettings, load_settings
from gateleg.web.api.calls import Using
from gateleg.web.app import create_app
from tests.ai.speaking import said
from tests.net.http.faulty import Service, service
from tests.web.conftest import client_of

ANSWER = said(
    {"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1000, "completion_tokens": 10}}
)
REFUSED = said({"error": {"code": "bad_input", "message": "You said: the secret plan, with sk-0123456789"}}, 400)


def _routes(resources: Resources) -> APIRouter:
    router = APIRouter()

    @router.post("/ask")
    async def ask(call: Using) -> dict[str, str]:
        models = resources.models.billed_to(Account(resources.application, call.principal.tenant))
        return {"text": (await models.chat().reply([User("the secret plan")], max_tokens=10)).text}

    return router


CHATTER = Application(name="chatter", title="Chatter", icon="chat", routes=_routes)


def settings_file(folder: Path, server: Service, more: str = "") -> Path:
    file = folder / "gateleg.toml"
    file.write_text(
        f'store = "embedded::memory:"\nobjects = "dir:{folder}/objects"\ndata = "{folder}/data"\nconsole = false\n'
        f'[models]\nchat = "house:llama"\nattempts = 1\n{more}\n'
        f'[models.providers.house]\nurl = "{server.url}/v1"\nkey_env = "TEST_HOUSE_KEY"\n'
    )
    return file


PRICE = '[models.prices."house:llama"]\ninput = 1000\noutput = 1000\n'


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    monkeypatch.setenv("TEST_HOUSE_KEY", "sk-0123456789")
    with service() as server:
        yield server


@pytest.fixture
def file(tmp_path: Path, server: Service) -> Path:
    return settings_file(tmp_path, server, PRICE + "[models.caps.tenants]\nacme = 2\n")


@pytest.fixture
async def host(file: Path) -> AsyncIterator[Host]:
    async with Host.open(load_settings(file=file), [CHATTER]) as host:
        yield host


async def member(host: Host, tenant: str | None = None, role: Role = Role.MEMBER) -> httpx.AsyncClient:
    return client_of(create_app(host), token=(await host.keys.create(f"of {tenant}", role, tenant=tenant)).token)


async def test_application_asks_the_model_of_the_settings_with_its_key(host: Host, server: Service) -> None:
    server.script.append(ANSWER)
    async with await member(host) as client:
        answer = await client.post("/api/chatter/ask")
    assert answer.json() == {"text": "Yes"}
    assert b"authorization: Bearer sk-0123456789" in server.requests[0]


async def test_error_of_a_model_is_answered_in_the_envelope(host: Host, server: Service, caplog: pytest.LogCaptureFixture) -> None:
    server.script.append(REFUSED)
    async with await member(host) as client:
        answer = await client.post("/api/chatter/ask")
    assert answer.status_code == 422
    assert answer.json()["error"]["code"] == "model-refused"
    assert answer.json()["error"]["message"] == "The service answered 400 (bad_input)."
    assert "secret plan" not in answer.text
    assert "sk-0123456789" not in answer.text + caplog.text
    assert "model-refused" in caplog.text


async def test_missing_key_is_not_a_fault_of_the_host(host: Host, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_HOUSE_KEY")
    async with await member(host) as client:
        answer = await client.post("/api/chatter/ask")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "model-key-missing")


async def test_spend_cap_is_answered_before_the_call(host: Host, server: Service) -> None:
    server.script += [ANSWER, ANSWER, ANSWER]
    async with await member(host, "acme") as client:
        answers = [await client.post("/api/chatter/ask") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2].json()["error"]["code"] == "spend-cap-reached"
    assert int(answers[2].headers["retry-after"]) > 0
    assert len(server.requests) == 2


async def test_members_see_the_usage_of_their_own_tenant(host: Host, server: Service) -> None:
    server.script += [ANSWER, ANSWER]
    for tenant in ("acme", "other"):
        async with await member(host, tenant) as client:
            await client.post("/api/chatter/ask")
    async with await member(host, "acme") as client:
        found = (await client.get("/api/models/usage")).json()
        foreign = await client.get("/api/models/usage", params={"tenant": "other"})
    async with await member(host) as client:
        nobody = await client.get("/api/models/usage")
    async with await member(host, role=Role.VIEWER) as client:
        everything = (await client.get("/api/models/usage", params={"application": "chatter"})).json()
        nothing = (await client.get("/api/models/usage", params={"until": "2020-01-01"})).json()
    assert [(item["tenant"], item["calls"], item["input"]) for item in found["items"]] == [("acme", 1, 1000)]
    assert (found["cost"], found["unpriced"]) == ("1.01", 0)
    assert (foreign.status_code, nobody.status_code) == (403, 403)
    assert [item["tenant"] for item in everything["items"]] == ["acme", "other"]
    assert (nothing["items"], nothing["since"]) == ([], "2020-01-01")


async def test_usage_of_several_days_comes_newest_first(host: Host) -> None:
    models = host.models.billed_to(Account("chatter"))
    await models.chat_with(Script([Reply("a", usage=Usage(1, 1))])).reply([User("?")])
    today = host.store.setup.now().date()
    stored = (await read_usage(host.store, today, today))[0]
    await host.store.create(stored.model_copy(update={"day": f"{date(today.year - 1, 12, 31)}"}))
    found = await read_usage(host.store, today, today)
    assert [usage.day for usage in found] == [f"{today}"]
    with pytest.raises(BadPeriod):
        await read_usage(host.store, date(2020, 1, 1), today)
    with pytest.raises(BadPeriod):
        await read_usage(host.store, today, date(2020, 1, 1))


async def test_tables_of_models_are_the_hosts_and_answers_are_for_admins(host: Host) -> None:
    from gateleg.host.principal import Principal

    assert {"GatelegModelCache", "GatelegModelUsage"} <= {table.name for table in host.tables}
    seen = {role: {table.name for table in host.tables_for(Principal("x", role))} for role in (Role.VIEWER, Role.ADMIN)}
    assert "GatelegModelCache" in seen[Role.ADMIN] - seen[Role.VIEWER]


def test_variables_reach_into_the_section(tmp_path: Path) -> None:
    environ = {
        "GATELEG_MODELS__CHAT": "anthropic:claude-x",
        "GATELEG_MODELS__PROVIDERS__ANTHROPIC__KEY_ENV": "MY_KEY",
        "GATELEG_MODELS__CAPS__APPLICATIONS": '{"*": 5}',
        "GATELEG_MODELS__PRICES": '{"anthropic:claude-x": {"input": 3}}',
    }
    settings = load_settings(file=tmp_path / "none", environ=environ)
    settings.check_sections(["delphi"])
    found = settings.section("models", ModelSettings)
    assert (found.chat, found.providers["anthropic"].key_env) == ("anthropic:claude-x", "MY_KEY")
    assert found.caps.of_application("mv") == 5
    shown = {name: (value, origin) for name, value, origin in settings.section_table("models", ModelSettings)}
    assert shown["models.providers"][1] == "GATELEG_MODELS__PROVIDERS__ANTHROPIC__KEY_ENV"
    assert shown["models.embeddings"] == ("local:minilm", "default")


def test_variable_inside_a_table_of_the_file_changes_one_value(tmp_path: Path) -> None:
    file = tmp_path / "gateleg.toml"
    file.write_text('[models.providers.openai]\nkey_env = "A"\nurl = "https://proxy/v1"\n')
    settings = load_settings(file=file, environ={"GATELEG_MODELS__PROVIDERS__OPENAI__KEY_ENV": "B"})
    found = settings.section("models", ModelSettings).providers["openai"]
    assert (found.key_env, found.url) == ("B", "https://proxy/v1")


def test_keys_are_hidden_where_settings_are_shown(tmp_path: Path) -> None:
    settings = load_settings(file=tmp_path / "none", environ={"GATELEG_MODELS__KEYS__OPENAI": "sk-secret-0123"})
    shown = {name: value for name, value, _ in settings.section_table("models", ModelSettings)}
    assert shown["models.keys"] == "openai=(hidden)"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[models]\nchta = "x"\n', "models has no setting 'chta'; did you mean 'chat'"),
        ('[models]\nchat = "nonsense"\n', "is not a model address"),
        ('[models.keys]\nopenia = "sk-secret-0123"\n', "models.keys"),
    ],
)
def test_what_is_wrong_with_the_section_is_told_without_keys(tmp_path: Path, text: str, told: str) -> None:
    file = tmp_path / "gateleg.toml"
    file.write_text(text)
    with pytest.raises(BadSettings) as refused:
        load_settings(file=file).section("models", ModelSettings)
    assert told in str(refused.value)
    assert "sk-secret" not in str(refused.value)


def test_row_of_the_page_says_what_the_cost_leaves_out() -> None:
    from gateleg.web.console.settings.page import usage_row

    usage = UsageDay(day="2026-11-16", slot="[]", application="mv", model="m", calls=3, failed=1, unpriced=2, images=4)
    cells = usage_row(usage).cells
    assert cells["cost"] == "unknown"
    assert "2 without a price, not included in the cost" in str(cells["notes"])


async def test_key_may_be_a_secret_of_the_host(tmp_path: Path, server: Service) -> None:
    file = settings_file(tmp_path, server)
    text = file.read_text().replace('key_env = "TEST_HOUSE_KEY"', 'key_secret = "house"')
    file.write_text(text.replace("embedded::memory:", f"embedded:{tmp_path}/store"))
    async with Host.open(load_settings(file=file), [CHATTER]) as host:
        async with await member(host) as client:
            missing = await client.post("/api/chatter/ask")
        assert (missing.status_code, missing.json()["error"]["code"]) == (503, "model-key-missing")
        assert server.requests == []
        await host.secrets.put("house", "sk-of-the-house")
    server.script.append(ANSWER)
    async with Host.open(load_settings(file=file), [CHATTER]) as host, await member(host) as client:
        assert (await client.post("/api/chatter/ask")).json() == {"text": "Yes"}
    assert b"authorization: Bearer sk-of-the-house" in server.requests[0]


def test_provider_has_one_kind_of_key(tmp_path: Path) -> None:
    file = tmp_path / "gateleg.toml"
    file.write_text('[models.providers.openai]\nkey_env = "A"\nkey_secret = "b"\n')
    with pytest.raises(BadSettings, match="not both"):
        load_settings(file=file).section("models", ModelSettings)
