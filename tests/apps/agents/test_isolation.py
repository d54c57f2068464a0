"""Two tenants and two users x every function of the service: nothing crosses.

`ann` and `bob` are users of acme, `eve` and `evan` of umbrella. Ann begins everything; the others try to see, to list, to change, to delete
and to name it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from gateleg.apps.agents import service
from gateleg.apps.agents.errors import AgentsError, BadField, NotFoundInPartition, NotYours, UnknownReference
from gateleg.apps.agents.listing import Listing, Paging
from gateleg.apps.agents.tables import McpServer
from gateleg.apps.agents.tenancy import Context
from gateleg.apps.agents.thread_tables import Message, Run, ToolCall
from gateleg.apps.agents.versions import AGENTS, FLOWS, PROMPTS
from gateleg.host.secrets import SecretNotFound, Secrets
from gateleg.model import spec_of
from gateleg.store import AsyncStore, OutOfScope, Store

ALL = Paging()
MINE = "only ann knows"


@dataclass
class World:
    """Everything that ann has, and the functions of the service on it."""

    store: AsyncStore
    secrets: Secrets
    ids: dict[str, str]


async def begin(store: AsyncStore, secrets: Secrets, ann: Context, admin: Context) -> World:
    """One of each thing, all of which refer to each other."""
    await service.save_llm(store, admin, {"llm_provider": "local", "llm_name": "small", "module_name": "m", "class_name": "C"})
    await service.save_wizard_schema(store, admin, {"wizard_schema_type": "t", "wizard_schema_name": "n"})
    values = {"mcp_label": MINE, "mcp_server_url": "https://tools.test", "headers": {"X-Api-Key": MINE}}
    server = await service.save_server(store, secrets, ann, values)
    named = [{"mcp_server_uuid": server.mcp_server_uuid}]
    prompt = await service.save_prompt(
        store, ann, {"prompt_type": "t", "prompt_name": MINE, "template_context": "{flow_snippet}", "mcp_servers": named}
    )
    flow = await service.save_flow(store, ann, {"flow_name": MINE, "prompt_uuid": prompt.prompt_uuid, "flow_context": "x"})
    agent = await service.save_agent(
        store,
        secrets,
        ann,
        {
            "agent_name": MINE,
            "llm_provider": "local",
            "llm_name": "small",
            "flow_snippet_version_uuid": flow.flow_snippet_version_uuid,
            "configuration": {"api_key": MINE},
        },
    )
    thread = await service.save_thread(store, ann, {"agent_uuid": agent.agent_uuid})
    run = await service.save_run(store, ann, {"thread_uuid": thread.thread_uuid})
    place = {"thread_uuid": thread.thread_uuid, "run_uuid": run.run_uuid}
    message = await service.save_message(store, ann, {**place, "role": "user", "message": MINE})
    call = await service.save_tool_call(store, ann, {**place, "name": MINE})
    task = await service.save_async_task(store, ann, {"function_name": "f", "notes": MINE})
    await service.save_fine_tuning_message(
        store,
        ann,
        {"agent_uuid": agent.agent_uuid, "message_uuid": "m", "thread_uuid": thread.thread_uuid, "role": "user", "content": MINE},
    )
    element = await service.save_element(
        store, ann, {"data_type": "t", "element_title": MINE, "attribute_name": "a", "attribute_type": "string"}
    )
    wizard = await service.save_wizard(
        store,
        ann,
        {
            "wizard_title": MINE,
            "wizard_type": "t",
            "wizard_schema_type": "t",
            "wizard_schema_name": "n",
            "wizard_elements": [{"element_uuid": element.element_uuid}],
        },
    )
    group = await service.save_wizard_group(store, ann, {"wizard_group_name": MINE, "wizard_uuids": [wizard.wizard_uuid]})
    chosen = {"wizard_group_filter_name": MINE, "region": "eu", "wizard_group_uuid": group.wizard_group_uuid}
    one = await service.save_wizard_group_filter(store, ann, chosen)
    ids = {
        "agent": agent.agent_uuid,
        "agent_version": agent.agent_version_uuid,
        "prompt": prompt.prompt_uuid,
        "prompt_version": prompt.prompt_version_uuid,
        "flow": flow.flow_snippet_uuid,
        "flow_version": flow.flow_snippet_version_uuid,
        "server": server.mcp_server_uuid,
        "thread": thread.thread_uuid,
        "run": run.run_uuid,
        "message": message.message_uuid,
        "call": call.tool_call_uuid,
        "task": task.async_task_uuid,
        "element": element.element_uuid,
        "wizard": wizard.wizard_uuid,
        "group": group.wizard_group_uuid,
        "filter": one.wizard_group_filter_uuid,
    }
    return World(store, secrets, ids)


@pytest.fixture
async def world(store: AsyncStore, secrets: Secrets, ann: Context, admin: Context) -> World:
    return await begin(store, secrets, ann, admin)


Call = Callable[[World, Context], Awaitable[Any]]

#: What belongs to the tenant: its users see it, others do not.
OF_THE_TENANT: dict[str, Call] = {
    "find_agent": lambda w, c: service.find_agent(w.store, c, agent_uuid=w.ids["agent"]),
    "find_agent by version": lambda w, c: service.find_agent(w.store, c, agent_version_uuid=w.ids["agent_version"]),
    "find_active": lambda w, c: service.find_active(w.store, c, AGENTS, w.ids["agent"]),
    "find_version": lambda w, c: service.find_version(w.store, c, FLOWS, w.ids["flow_version"]),
    "find_pointer": lambda w, c: service.find_pointer(w.store, c, PROMPTS, w.ids["prompt"]),
    "load_active": lambda w, c: _only(service.load_active(w.store, c, AGENTS, [w.ids["agent"]])),
    "find_prompt": lambda w, c: service.find_prompt(w.store, c, prompt_uuid=w.ids["prompt"]),
    "preview_prompt": lambda w, c: service.preview_prompt(w.store, c, w.ids["prompt_version"], {}),
    "find_flow": lambda w, c: service.find_flow(w.store, c, flow_snippet_uuid=w.ids["flow"]),
    "find_server": lambda w, c: service.find_server(w.store, c, w.ids["server"]),
    "find_element": lambda w, c: service.find_element(w.store, c, w.ids["element"]),
    "find_wizard": lambda w, c: service.find_wizard(w.store, c, w.ids["wizard"]),
    "find_wizard_group": lambda w, c: service.find_wizard_group(w.store, c, w.ids["group"]),
    "find_wizard_group_filter": lambda w, c: service.find_wizard_group_filter(w.store, c, w.ids["filter"]),
    "find_fine_tuning_message": lambda w, c: service.find_fine_tuning_message(w.store, c, w.ids["agent"], "m"),
    "choose_wizard_groups": lambda w, c: service.choose_wizard_groups(w.store, c, "eu", {}),
    "list_agents": lambda w, c: service.list_agents(w.store, c, ALL),
    "list_agents by agent": lambda w, c: service.list_agents(w.store, c, ALL, agent_uuid=w.ids["agent"]),
    "list_agents by flow": lambda w, c: service.list_agents(w.store, c, ALL, flow_snippet_version_uuid=w.ids["flow_version"]),
    "list_prompts": lambda w, c: service.list_prompts(w.store, c, ALL),
    "list_prompts by type": lambda w, c: service.list_prompts(w.store, c, ALL, prompt_type="t"),
    "list_flows": lambda w, c: service.list_flows(w.store, c, ALL),
    "list_flows by prompt": lambda w, c: service.list_flows(w.store, c, ALL, prompt_uuid=w.ids["prompt"]),
    "list_servers": lambda w, c: service.list_servers(w.store, c, ALL),
    "list_elements": lambda w, c: service.list_elements(w.store, c, ALL),
    "list_elements by data type": lambda w, c: service.list_elements(w.store, c, ALL, data_type="t"),
    "list_wizards": lambda w, c: service.list_wizards(w.store, c, ALL),
    "list_wizard_groups": lambda w, c: service.list_wizard_groups(w.store, c, ALL),
    "list_wizard_group_filters": lambda w, c: service.list_wizard_group_filters(w.store, c, ALL),
    "list_fine_tuning_messages": lambda w, c: service.list_fine_tuning_messages(w.store, c, ALL),
    "list_fine_tuning_messages by agent": lambda w, c: service.list_fine_tuning_messages(w.store, c, ALL, agent_uuid=w.ids["agent"]),
    "list_fine_tuning_messages by thread": lambda w, c: service.list_fine_tuning_messages(w.store, c, ALL, thread_uuid=w.ids["thread"]),
}
#: What belongs to a user: nobody else sees it, except operators of the same part.
OF_THE_USER: dict[str, Call] = {
    "find_thread": lambda w, c: service.find_thread(w.store, c, w.ids["thread"]),
    "find_in_thread: a run": lambda w, c: service.find_in_thread(w.store, c, Run, w.ids["thread"], w.ids["run"]),
    "find_in_thread: a message": lambda w, c: service.find_in_thread(w.store, c, Message, w.ids["thread"], w.ids["message"]),
    "find_in_thread: a tool call": lambda w, c: service.find_in_thread(w.store, c, ToolCall, w.ids["thread"], w.ids["call"]),
    "find_async_task": lambda w, c: service.find_async_task(w.store, c, "f", w.ids["task"]),
    "list_threads": lambda w, c: service.list_threads(w.store, c, ALL),
    "list_threads by agent": lambda w, c: service.list_threads(w.store, c, ALL, agent_uuid=w.ids["agent"]),
    "list_threads by user": lambda w, c: service.list_threads(w.store, c, ALL, user_id="ann"),
    "list_runs": lambda w, c: service.list_runs(w.store, c, ALL),
    "list_runs by thread": lambda w, c: service.list_runs(w.store, c, ALL, thread_uuid=w.ids["thread"]),
    "list_messages": lambda w, c: service.list_messages(w.store, c, ALL),
    "list_messages by thread": lambda w, c: service.list_messages(w.store, c, ALL, thread_uuid=w.ids["thread"]),
    "list_messages by run": lambda w, c: service.list_messages(w.store, c, ALL, run_uuid=w.ids["run"]),
    "list_messages by thread and run": lambda w, c: service.list_messages(
        w.store, c, ALL, thread_uuid=w.ids["thread"], run_uuid=w.ids["run"]
    ),
    "list_tool_calls": lambda w, c: service.list_tool_calls(w.store, c, ALL),
    "list_tool_calls by thread": lambda w, c: service.list_tool_calls(w.store, c, ALL, thread_uuid=w.ids["thread"]),
    "list_async_tasks": lambda w, c: service.list_async_tasks(w.store, c, ALL),
    "list_async_tasks by function": lambda w, c: service.list_async_tasks(w.store, c, ALL, function_name="f"),
}
#: Changes of what belongs to the tenant, by those of another: refused as unknown, or nothing to delete.
CHANGES_OF_THE_TENANT: dict[str, Call] = {
    "save_agent": lambda w, c: service.save_agent(w.store, w.secrets, c, {"agent_version_uuid": w.ids["agent_version"], "agent_name": "x"}),
    "save_agent as a version": lambda w, c: service.save_agent(w.store, w.secrets, c, {"agent_uuid": w.ids["agent"]}),
    "save_agent as a copy": lambda w, c: service.save_agent(
        w.store, w.secrets, c, {"agent_version_uuid": w.ids["agent_version"]}, copied=True
    ),
    "save_prompt": lambda w, c: service.save_prompt(w.store, c, {"prompt_version_uuid": w.ids["prompt_version"], "prompt_name": "x"}),
    "save_prompt as a version": lambda w, c: service.save_prompt(w.store, c, {"prompt_uuid": w.ids["prompt"]}),
    "save_flow": lambda w, c: service.save_flow(w.store, c, {"flow_snippet_version_uuid": w.ids["flow_version"], "flow_name": "x"}),
    "save_flow as a version": lambda w, c: service.save_flow(w.store, c, {"flow_snippet_uuid": w.ids["flow"]}),
    "save_server": lambda w, c: service.save_server(w.store, w.secrets, c, {"mcp_server_uuid": w.ids["server"], "mcp_label": "x"}),
    "save_element": lambda w, c: service.save_element(w.store, c, {"element_uuid": w.ids["element"], "element_title": "x"}),
    "save_wizard": lambda w, c: service.save_wizard(w.store, c, {"wizard_uuid": w.ids["wizard"], "wizard_title": "x"}),
    "save_wizard_group": lambda w, c: service.save_wizard_group(w.store, c, {"wizard_group_uuid": w.ids["group"], "weight": 1}),
    "save_wizard_group_with_wizards": lambda w, c: service.save_wizard_group_with_wizards(
        w.store, c, {"wizard_group_uuid": w.ids["group"], "wizards": []}
    ),
    "save_wizard_group_filter": lambda w, c: service.save_wizard_group_filter(w.store, c, {"wizard_group_filter_uuid": w.ids["filter"]}),
    "activate": lambda w, c: service.activate(w.store, c, AGENTS, w.ids["agent_version"]),
    "label": lambda w, c: service.label(w.store, c, AGENTS, w.ids["agent"], "stable", w.ids["agent_version"]),
    "delete_agent": lambda w, c: service.delete_agent(w.store, w.secrets, c, w.ids["agent_version"]),
    "delete_prompt": lambda w, c: service.delete_prompt(w.store, c, w.ids["prompt_version"]),
    "delete_flow": lambda w, c: service.delete_flow(w.store, c, w.ids["flow_version"]),
    "delete_server": lambda w, c: service.delete_server(w.store, w.secrets, c, w.ids["server"]),
    "delete_element": lambda w, c: service.delete_element(w.store, c, w.ids["element"]),
    "delete_wizard": lambda w, c: service.delete_wizard(w.store, c, w.ids["wizard"]),
    "delete_wizard_group": lambda w, c: service.delete_wizard_group(w.store, c, w.ids["group"]),
    "delete_wizard_group_filter": lambda w, c: service.delete_wizard_group_filter(w.store, c, w.ids["filter"]),
    "delete_wizard_from_wizard_group": lambda w, c: service.delete_wizard_from_wizard_group(w.store, c, w.ids["group"], w.ids["wizard"]),
    "delete_fine_tuning_message": lambda w, c: service.delete_fine_tuning_message(w.store, c, w.ids["agent"], "m"),
    "move_agents": lambda w, c: service.move_agents(w.store, c, w.ids["flow_version"], w.ids["flow_version"]),
    "check_answers": lambda w, c: service.check_answers(w.store, c, w.ids["wizard"], {}),
}
#: Changes of what belongs to a user, by others.
CHANGES_OF_THE_USER: dict[str, Call] = {
    "save_thread": lambda w, c: service.save_thread(w.store, c, {"thread_uuid": w.ids["thread"]}),
    "edit_thread": lambda w, c: service.edit_thread(w.store, c, w.ids["thread"], {"title": "x"}),
    "pin_thread": lambda w, c: service.pin_thread(w.store, c, w.ids["thread"], w.ids["agent_version"]),
    "save_run": lambda w, c: service.save_run(w.store, c, {"thread_uuid": w.ids["thread"], "run_uuid": w.ids["run"], "total_tokens": 1}),
    "save_run anew": lambda w, c: service.save_run(w.store, c, {"thread_uuid": w.ids["thread"]}),
    "save_message": lambda w, c: service.save_message(w.store, c, _message(w)),
    "save_message again": lambda w, c: service.save_message(w.store, c, {**_message(w), "message_uuid": w.ids["message"]}),
    "save_tool_call": lambda w, c: service.save_tool_call(w.store, c, {**_message(w), "tool_call_id": "c", "name": "x"}),
    "save_async_task": lambda w, c: service.save_async_task(
        w.store, c, {"function_name": "f", "async_task_uuid": w.ids["task"], "notes": "x"}
    ),
    "delete_thread": lambda w, c: service.delete_thread(w.store, c, w.ids["thread"]),
    "delete_run": lambda w, c: service.delete_run(w.store, c, w.ids["run"], w.ids["thread"]),
    "delete_message": lambda w, c: service.delete_message(w.store, c, w.ids["message"], w.ids["thread"]),
    "delete_tool_call": lambda w, c: service.delete_tool_call(w.store, c, w.ids["thread"], w.ids["call"]),
    "delete_async_task": lambda w, c: service.delete_async_task(w.store, c, w.ids["task"], "f"),
}
#: Things of another tenant that something new names.
NAMING: dict[str, Call] = {
    "an agent that names a server": lambda w, c: service.save_agent(w.store, w.secrets, c, _agent(mcp_server_uuids=[w.ids["server"]])),
    "an agent that names a flow": lambda w, c: service.save_agent(
        w.store, w.secrets, c, _agent(flow_snippet_version_uuid=w.ids["flow_version"])
    ),
    "a prompt that names a server": lambda w, c: service.save_prompt(
        w.store, c, {"prompt_type": "t", "prompt_name": "x", "template_context": "", "mcp_servers": [{"mcp_server_uuid": w.ids["server"]}]}
    ),
    "a flow that names a prompt": lambda w, c: service.save_flow(w.store, c, {"flow_name": "x", "prompt_uuid": w.ids["prompt"]}),
    "a thread that names an agent": lambda w, c: service.save_thread(w.store, c, {"agent_uuid": w.ids["agent"]}),
    "a wizard that names an element": lambda w, c: service.save_wizard(
        w.store,
        c,
        {
            "wizard_title": "x",
            "wizard_type": "t",
            "wizard_schema_type": "t",
            "wizard_schema_name": "n",
            "wizard_elements": [{"element_uuid": w.ids["element"]}],
        },
    ),
    "a group that names a wizard": lambda w, c: service.save_wizard_group(
        w.store, c, {"wizard_group_name": "x", "wizard_uuids": [w.ids["wizard"]]}
    ),
    "a group with a wizard": lambda w, c: service.save_wizard_group_with_wizards(
        w.store, c, {"wizard_group_name": "x", "wizards": [{"wizard_uuid": w.ids["wizard"]}]}
    ),
    "a filter that names a group": lambda w, c: service.save_wizard_group_filter(
        w.store, c, {"wizard_group_filter_name": "x", "region": "eu", "wizard_group_uuid": w.ids["group"]}
    ),
    "a fine-tuning message that names an agent": lambda w, c: service.save_fine_tuning_message(
        w.store, c, {"agent_uuid": w.ids["agent"], "message_uuid": "n", "thread_uuid": "t", "role": "user"}
    ),
}
#: What has no tenant: the catalogue, a pure function, and those that take an item which the caller has found.
SHARED = {
    *("find_llm", "list_llms", "save_llm", "delete_llm"),
    *("find_ui_component", "list_ui_components", "save_ui_component", "delete_ui_component"),
    *("find_wizard_schema", "list_wizard_schemas", "save_wizard_schema", "delete_wizard_schema"),
    *("differences", "headers_of", "compose"),
}


async def _only(found: Awaitable[list[Any]]) -> Any:
    (one,) = await found
    return one


def _message(world: World) -> dict[str, Any]:
    return {"thread_uuid": world.ids["thread"], "run_uuid": world.ids["run"], "role": "user", "message": "x"}


def _agent(**others: Any) -> dict[str, Any]:
    return {"agent_name": "x", "llm_provider": "local", "llm_name": "small", **others}


def shown(found: Any) -> list[Any]:
    """What a function has found, as a list."""
    if isinstance(found, Listing):
        return found.items
    return found if isinstance(found, list) else [] if found is None else [found]


async def contents(store: AsyncStore) -> dict[str, list[Any]]:
    """Every item of the store, to see whether anything has changed."""
    from gateleg.apps.agents.catalogue_tables import TABLES

    found = {}
    for table in TABLES:
        answer = await store.transport.call("Scan", {"TableName": table.name, "ConsistentRead": True})
        found[table.name] = answer["Items"]
    return found


async def denied(attempt: Awaitable[Any]) -> bool:
    """Whether a change was refused as one of something that does not exist, or found nothing to change."""
    try:
        return (await attempt) in (False, 0)
    except (NotFoundInPartition, UnknownReference):
        return True
    except AgentsError as error:
        raise AssertionError(f"refused, but not as unknown: {error}") from error


def test_every_function_of_the_service_is_in_the_matrix() -> None:
    listed = {**OF_THE_TENANT, **OF_THE_USER, **CHANGES_OF_THE_TENANT, **CHANGES_OF_THE_USER}
    named = {name.partition(":")[0].partition(" ")[0] for name in listed} | SHARED | {"save_fine_tuning_message"}
    assert set(service.__all__) - named == set()


async def test_nothing_of_a_tenant_is_seen_in_another(world: World, ann: Context, bob: Context, eve: Context, evan: Context) -> None:
    for name, call in OF_THE_TENANT.items():
        for insider in (ann, bob):
            assert shown(await call(world, insider)), f"{insider.user_id} should see {name}"
        for outsider in (eve, evan):
            assert shown(await call(world, outsider)) == [], f"{outsider.user_id} sees {name}"


async def test_nothing_of_a_user_is_seen_by_another(
    world: World, ann: Context, bob: Context, eve: Context, evan: Context, operator: Context
) -> None:
    for name, call in OF_THE_USER.items():
        for insider in (ann, operator):
            assert shown(await call(world, insider)), f"{insider.user_id} should see {name}"
        for outsider in (bob, eve, evan):
            found = await call(world, outsider)
            assert shown(found) == [], f"{outsider.user_id} sees {name}"
            if isinstance(found, Listing):
                assert await found.total() == 0


async def test_nothing_of_a_tenant_is_changed_from_another(world: World, eve: Context, evan: Context) -> None:
    before = await contents(world.store)
    for name, call in CHANGES_OF_THE_TENANT.items():
        for outsider in (eve, evan):
            assert await denied(call(world, outsider)), f"{outsider.user_id} can {name}"
    assert await contents(world.store) == before


async def test_nothing_of_a_user_is_changed_by_another(world: World, bob: Context, eve: Context, evan: Context) -> None:
    before = await contents(world.store)
    for name, call in CHANGES_OF_THE_USER.items():
        for outsider in (bob, eve, evan):
            assert await denied(call(world, outsider)), f"{outsider.user_id} can {name}"
    assert await contents(world.store) == before


async def test_nothing_new_names_what_another_tenant_has(world: World, eve: Context) -> None:
    before = await contents(world.store)
    for name, call in NAMING.items():
        assert await denied(call(world, eve)), name
    assert await contents(world.store) == before


async def test_the_same_ids_in_two_tenants_are_two_things(world: World, ann: Context, eve: Context) -> None:
    theirs = await world.store.create(
        McpServer(partition=eve.partition, mcp_server_uuid=world.ids["server"], mcp_label="theirs", mcp_server_url="https://x.test")
    )
    assert await service.find_server(world.store, eve, world.ids["server"]) == theirs
    assert await service.delete_server(world.store, world.secrets, eve, world.ids["server"])
    mine = await service.find_server(world.store, ann, world.ids["server"])
    assert mine is not None
    assert (mine.mcp_label, await service.headers_of(world.secrets, ann, mine)) == (MINE, {"X-Api-Key": MINE})


async def test_secrets_are_stored_nowhere_in_the_clear_and_belong_to_their_tenant(world: World, ann: Context, eve: Context) -> None:
    server = await service.find_server(world.store, ann, world.ids["server"])
    assert server is not None
    with pytest.raises(SecretNotFound):
        await service.headers_of(world.secrets, eve, server)
    copied = {"mcp_label": "x", "mcp_server_url": "https://evil.test", "headers": dict(server.headers)}
    with pytest.raises(BadField, match="does not have"):
        await service.save_server(world.store, world.secrets, eve, copied)
    assert all(MINE not in value for value in server.headers.values())
    agent = await service.find_agent(world.store, ann, agent_uuid=world.ids["agent"])
    assert agent is not None
    assert agent.configuration["api_key"].startswith("secret:agent.")


async def test_a_cursor_of_one_tenant_is_refused_in_another(world: World, ann: Context, eve: Context) -> None:
    from gateleg.store import CursorRejected

    for _ in range(2):
        await service.save_element(
            world.store, ann, {"data_type": "t", "element_title": "x", "attribute_name": "a", "attribute_type": "string"}
        )
    first = await service.list_elements(world.store, ann, Paging(limit=1))
    with pytest.raises(CursorRejected):
        await service.list_elements(world.store, eve, Paging(limit=1, cursor=first.next))


async def test_a_viewer_sees_and_does_not_change(world: World) -> None:
    from gateleg.host import Role
    from tests.apps.agents.conftest import context_of

    viewer = context_of("vera", "acme", Role.VIEWER)
    assert await service.find_thread(world.store, viewer, world.ids["thread"]) is not None
    for name, call in CHANGES_OF_THE_USER.items():
        if name != "save_thread":
            with pytest.raises(NotYours):
                await call(world, viewer)


@pytest.mark.parametrize("wrong", ["a#b", "", "x" * 129, "a\x00b", "a\n"], ids=ascii)
async def test_ids_that_no_item_can_have_find_nothing_and_are_refused(world: World, ann: Context, wrong: str) -> None:
    assert await service.find_thread(world.store, ann, wrong) is None
    assert await service.find_in_thread(world.store, ann, Message, wrong, wrong) is None
    assert await service.find_agent(world.store, ann, agent_uuid=wrong) is None
    assert await service.find_server(world.store, ann, wrong) is None
    assert not await service.delete_thread(world.store, ann, wrong)
    for listed in (
        service.list_messages(world.store, ann, ALL, thread_uuid=wrong or "-", run_uuid=wrong),
        service.list_messages(world.store, ann, ALL, run_uuid=wrong or "-"),
        service.list_fine_tuning_messages(world.store, ann, ALL, agent_uuid=wrong or "-"),
        service.list_async_tasks(world.store, ann, ALL, function_name=wrong or "-"),
    ):
        assert (await listed).items == []
    assert await denied(service.save_run(world.store, ann, {"thread_uuid": wrong}))
    with pytest.raises(AgentsError):
        await service.save_thread(world.store, ann, {"agent_uuid": wrong})


async def test_unicode_ids_are_kept_as_they_are(world: World, ann: Context) -> None:
    values = {"agent_uuid": world.ids["agent"], "message_uuid": "naïve-北京-🙂", "thread_uuid": "t", "role": "user"}
    made = await service.save_fine_tuning_message(world.store, ann, values)
    assert await service.find_fine_tuning_message(world.store, ann, world.ids["agent"], "naïve-北京-🙂") == made


def test_a_scoped_store_cannot_leave_the_partition(ann: Context, eve: Context) -> None:
    with Store.embedded() as store:
        store.create_tables(spec_of(Message).table, spec_of(McpServer).table)
        scoped = store.scope(ann.partition)
        assert scoped.find(McpServer, mcp_server_uuid="x") is None
        for ref in (
            McpServer.key(partition=eve.partition, mcp_server_uuid="x"),
            Message.key(partition=eve.partition, thread_uuid="t", message_uuid="m"),
        ):
            with pytest.raises(OutOfScope):
                scoped.find(ref)
