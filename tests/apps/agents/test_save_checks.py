"""What a host refuses when an agent or a tool server is saved, because it could not run it."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateleg.apps.agents.agents import list_agents
from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.errors import AgentsError, BadConfiguration, BadField, BadOutputSchema, HandlerNotAllowed
from gateleg.apps.agents.evaluating.cases import Case, Contains
from gateleg.apps.agents.evaluating.sets import save_set
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.save_checks import save_agent, save_server
from gateleg.net.errors import AddressRefused
from tests.apps.agents.running.hosted import Hosted, hosting

pytestmark = pytest.mark.asyncio(loop_scope="module")
LOCAL = {"agent_name": "Helper", "llm_provider": "local", "llm_name": "smollm2"}
GPT = {"llm_provider": "openai", "llm_name": "gpt"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def hosted(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Hosted]:
    folder = tmp_path_factory.mktemp("host")
    models = {"OUTGOING_ALLOW": "127.0.0.1:9000"}
    async with hosting(folder, work=False, models=models, handlers="local,openai,openai-compatible") as hosted:
        for provider, name, handler in (
            ("openai", "gpt", "OpenAIHandler"),
            ("house", "own", "openai-compatible"),
            ("gemini", "flash", "GeminiHandler"),
            ("nobody", "x", "os.system"),
        ):
            await hosted.resources.store.create(Llm(llm_provider=provider, llm_name=name, module_name="m", class_name=handler))
        yield hosted


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ({"llm_provider": "nobody", "llm_name": "x"}, HandlerNotAllowed, "no handler 'nobody'"),
        ({"llm_provider": "gemini", "llm_name": "flash"}, HandlerNotAllowed, "no handler 'gemini'"),
        ({"configuration": {"model": "gpt-9000"}}, BadConfiguration, "Unknown local model 'gpt-9000'"),
        ({"llm_provider": "house", "llm_name": "own", "configuration": {"model": "attic:llama"}}, BadConfiguration, "'attic'"),
        (GPT, BadConfiguration, "names no model"),
        (
            {"llm_provider": "openai", "llm_name": "gpt", "configuration": {"model": "m@http://10.0.0.1/"}},
            BadConfiguration,
            "names a server",
        ),
        ({"configuration": {"temperature": "hot"}}, BadConfiguration, "temperature"),
        ({"configuration": {"fallback_models": ["attic:llama"]}}, BadConfiguration, "'attic'"),
        ({"configuration": {"tools": {"a": 1}}}, BadField, "tools must be a list"),
        ({"configuration": {"require_approval": 5}}, BadField, "require_approval"),
        ({"configuration": {"api_key": "secret:absent"}}, BadField, "'absent', which this tenant does not have"),
    ],
)
async def test_an_agent_that_cannot_run_is_refused(hosted: Hosted, values: dict[str, Any], error: type[AgentsError], words: str) -> None:
    context = hosted.context()
    before = (await list_agents(hosted.resources.store, context, Paging())).items
    with pytest.raises(error, match=words):
        await save_agent(hosted.resources, context, {**LOCAL, **values})
    assert (await list_agents(hosted.resources.store, context, Paging())).items == before
    assert await hosted.resources.secrets.list(tenant=context.partition_key) == []


async def test_a_key_that_the_host_lacks_is_no_reason_to_refuse_an_agent(hosted: Hosted) -> None:
    saved = await save_agent(hosted.resources, hosted.context(), {**LOCAL, **GPT, "configuration": {"model": "gpt-x"}})
    with pytest.raises(BadConfiguration):
        await save_agent(hosted.resources, hosted.context(), {"agent_uuid": saved.agent_uuid, "configuration": {"max_tokens": 5}})


@pytest.mark.parametrize("url", ["http://127.0.0.1/mcp", "http://localhost/mcp", "http://169.254.169.254/mcp", "https://tools.test:22/mcp"])
async def test_an_address_that_the_host_may_not_ask_is_refused(hosted: Hosted, url: str) -> None:
    with pytest.raises(AddressRefused):
        await save_server(hosted.resources, hosted.context(), {"mcp_label": "S", "mcp_server_url": url})


async def test_an_address_that_the_settings_allow_is_saved_and_changed(hosted: Hosted) -> None:
    given = {"mcp_label": "S", "mcp_server_url": "http://127.0.0.1:9000/mcp"}
    saved = await save_server(hosted.resources, hosted.context(), given)
    with pytest.raises(AddressRefused):
        await save_server(
            hosted.resources, hosted.context(), {"mcp_server_uuid": saved.mcp_server_uuid, "mcp_server_url": "http://127.0.0.1:9001/mcp"}
        )


async def test_an_output_schema_that_is_not_one_is_refused_before_anything_is_asked(hosted: Hosted) -> None:
    agent = await save_agent(hosted.resources, hosted.context(), LOCAL)
    with pytest.raises(BadOutputSchema):
        await hosted.ask(agent, output_schema={"type": "objekt"})
    case = Case(question="Which?", checks=[Contains(text="x")], output_schema={"type": "array"})
    with pytest.raises(BadOutputSchema):
        await save_set(hosted.resources.store, hosted.context(), "Set", [case])


@pytest.mark.parametrize(("name", "meant"), [("maxTokenz", "max_tokens"), ("temperatur", "temperature"), ("tool", "tools")])
async def test_a_misspelt_option_is_refused_with_the_one_that_was_meant(hosted: Hosted, name: str, meant: str) -> None:
    with pytest.raises(BadField, match=f"{name} has no meaning. Did you mean '{meant}'"):
        await save_agent(hosted.resources, hosted.context(), {**LOCAL, "configuration": {name: 5}})


async def test_an_option_of_another_program_is_kept(hosted: Hosted) -> None:
    saved = await save_agent(hosted.resources, hosted.context(), {**LOCAL, "configuration": {"shop_region": "eu"}})
    assert saved.configuration == {"shop_region": "eu"}
