"""Versions of agents, prompts and flows: exactly one is active."""

import asyncio
from typing import Any

import pytest

from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.errors import ActiveVersion, BadField, MissingField, NotAnEditor, NotFoundInPartition, StillUsed, UnknownReference
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tables import Agent, McpServer, VersionPointer, VersionStatus
from gateleg.apps.agents.tenancy import Context, assemble
from gateleg.apps.agents.versions import (
    AGENTS,
    FLOWS,
    PROMPTS,
    VersionedKind,
    activate,
    create_first,
    create_next,
    delete_version,
    differences,
    duplicate,
    find_active,
    find_pointer,
    find_version,
    label,
    load_active,
    update_version,
    versions_of,
)
from gateleg.host import Principal, Role
from gateleg.store import AsyncStore, delete
from tests.apps.agents.conftest import Interleaving

ANY = pytest.mark.parametrize("of", [AGENTS, PROMPTS, FLOWS], ids=lambda of: of.kind)


@pytest.fixture
async def catalogue(store: AsyncStore) -> None:
    await store.create(Llm(llm_provider="local", llm_name="small", module_name="m", class_name="C"))


@pytest.fixture
async def values(store: AsyncStore, ann: Context, catalogue: None) -> dict[str, dict[str, Any]]:
    """What a first version of each kind needs."""
    prompt = await create_first(store, ann, PROMPTS, {"prompt_type": "t", "prompt_name": "P", "template_context": "Be {flow_snippet}"})
    return {
        "agent": {"agent_name": "Helper", "llm_provider": "local", "llm_name": "small"},
        "prompt": {"prompt_type": "t", "prompt_name": "P", "template_context": "Be good"},
        "flow": {"flow_name": "F", "prompt_uuid": prompt.prompt_uuid, "flow_context": "kind"},
    }


async def statuses(store: AsyncStore, context: Context, of: VersionedKind[Any], logical_uuid: str) -> list[str]:
    return [found.status.value async for found in store.query(versions_of(context, of, logical_uuid), consistent=True)]


@ANY
async def test_a_new_version_inherits_and_takes_the_place_of_the_active_one(store: AsyncStore, ann: Context, values: Any, of: Any) -> None:
    first = await create_first(store, ann, of, values[of.kind])
    second = await create_next(store, ann, of, of.logical_of(first), {of.name: "Renamed"})
    assert (of.logical_of(second), getattr(second, of.name)) == (of.logical_of(first), "Renamed")
    assert set(differences(of, first, second)) == {of.name}
    assert await find_active(store, ann, of, of.logical_of(first)) == second
    assert await statuses(store, ann, of, of.logical_of(first)) == ["inactive", "active"]
    pointer = await find_pointer(store, ann, of, of.logical_of(first))
    assert pointer is not None
    assert pointer.version_count == 2


@ANY
async def test_an_old_version_can_be_activated_again(store: AsyncStore, ann: Context, values: Any, of: Any) -> None:
    first = await create_first(store, ann, of, values[of.kind])
    await create_next(store, ann, of, of.logical_of(first), {})
    assert (await activate(store, ann, of, of.version_of(first))).status is VersionStatus.ACTIVE
    assert of.version_of(await find_active(store, ann, of, of.logical_of(first))) == of.version_of(first)
    assert sorted(await statuses(store, ann, of, of.logical_of(first))) == ["active", "inactive"]


@ANY
async def test_deleting_the_active_version_promotes_the_newest_of_the_others(store: AsyncStore, ann: Context, values: Any, of: Any) -> None:
    first = await create_first(store, ann, of, values[of.kind])
    second = await create_next(store, ann, of, of.logical_of(first), {})
    third = await create_next(store, ann, of, of.logical_of(first), {})
    assert await delete_version(store, ann, of, of.version_of(third))
    assert of.version_of(await find_active(store, ann, of, of.logical_of(first))) == of.version_of(second)
    assert await delete_version(store, ann, of, of.version_of(first))
    assert await delete_version(store, ann, of, of.version_of(second))
    assert await find_active(store, ann, of, of.logical_of(first)) is None
    assert await find_pointer(store, ann, of, of.logical_of(first)) is None
    assert not await delete_version(store, ann, of, of.version_of(second))


@ANY
async def test_a_duplicate_is_something_new_and_leaves_the_original_as_it_is(store: AsyncStore, ann: Context, values: Any, of: Any) -> None:
    first = await create_first(store, ann, of, values[of.kind])
    copy = await duplicate(store, ann, of, of.version_of(first))
    assert of.logical_of(copy) != of.logical_of(first)
    assert getattr(copy, of.name) == getattr(first, of.name) + " (Copy)"
    assert await statuses(store, ann, of, of.logical_of(first)) == ["active"]
    assert await statuses(store, ann, of, of.logical_of(copy)) == ["active"]


async def test_fifty_concurrent_new_versions_leave_exactly_one_active(
    store: AsyncStore, network: Interleaving, ann: Context, values: Any
) -> None:
    first = await create_first(store, ann, AGENTS, values["agent"])
    many = store.using(network)
    named = [create_next(many, ann, AGENTS, first.agent_uuid, {"agent_name": f"Helper {number}"}) for number in range(50)]
    made = await asyncio.gather(*named)
    assert network.calls.count("TransactWriteItems") > 50  # some were too late and decided anew
    found = await statuses(store, ann, AGENTS, first.agent_uuid)
    assert (found.count("active"), len(found)) == (1, 51)
    pointer = await find_pointer(store, ann, AGENTS, first.agent_uuid)
    assert pointer is not None
    assert pointer.version_count == 51
    active = await find_version(store, ann, AGENTS, pointer.active_version_uuid)
    assert active is not None
    assert active.status is VersionStatus.ACTIVE
    assert active.agent_version_uuid in {one.agent_version_uuid for one in made}
    llm = await store.get(Llm, llm_provider="local", llm_name="small")
    assert llm.reference_count == 51


async def test_concurrent_activations_and_deletions_leave_exactly_one_active(
    store: AsyncStore, network: Interleaving, ann: Context, values: Any
) -> None:
    first = await create_first(store, ann, AGENTS, values["agent"])
    made = [await create_next(store, ann, AGENTS, first.agent_uuid, {}) for _ in range(5)]
    activations = [activate(store.using(network), ann, AGENTS, one.agent_version_uuid) for one in made]
    deletions = [delete_version(store.using(network), ann, AGENTS, one.agent_version_uuid) for one in made[:3]]
    await asyncio.gather(*activations, *deletions, return_exceptions=True)
    found = await statuses(store, ann, AGENTS, first.agent_uuid)
    assert (found.count("active"), len(found)) == (1, 3)


async def test_the_active_version_is_one_read_and_many_are_two(store: AsyncStore, network: Interleaving, ann: Context, values: Any) -> None:
    made = [await create_first(store, ann, AGENTS, values["agent"]) for _ in range(20)]
    await create_next(store, ann, AGENTS, made[0].agent_uuid, {"agent_name": "Newer"})
    found = await load_active(store.using(network), ann, AGENTS, [one.agent_uuid for one in made])
    assert [None if one is None else one.agent_name for one in found] == ["Newer", *["Helper"] * 19]
    assert network.calls == ["BatchGetItem", "BatchGetItem"]
    assert await load_active(store, ann, AGENTS, ["none", made[1].agent_uuid]) == [None, found[1]]
    network.calls.clear()
    assert await find_pointer(store.using(network), ann, AGENTS, made[0].agent_uuid)
    assert network.calls == ["GetItem"]


async def test_differences_show_no_secrets(store: AsyncStore, ann: Context, values: Any) -> None:
    first = await create_first(store, ann, AGENTS, {**values["agent"], "configuration": {"api_key": "k1", "n": 1}})
    second = await create_next(store, ann, AGENTS, first.agent_uuid, {"configuration": {"api_key": "k2", "n": 2}})
    (before, after) = differences(AGENTS, first, second)["configuration"]
    assert (before["n"], after["n"]) == (1, 2)
    assert not {"k1", "k2"} & {before["api_key"], after["api_key"]}


async def test_versions_that_came_without_a_pointer_get_one_when_they_are_looked_for(
    store: AsyncStore, network: Interleaving, ann: Context, values: Any
) -> None:
    first = await create_first(store, ann, AGENTS, values["agent"])
    second = await create_next(store, ann, AGENTS, first.agent_uuid, {})
    await store.run(delete(VersionPointer.key(partition=ann.partition, kind="agent", logical_uuid=first.agent_uuid)))
    many = store.using(network)
    found = await asyncio.gather(*(find_active(many, ann, AGENTS, first.agent_uuid) for _ in range(5)))
    assert {None if one is None else one.agent_version_uuid for one in found} == {second.agent_version_uuid}
    pointer = await find_pointer(store, ann, AGENTS, first.agent_uuid)
    assert pointer is not None
    assert (pointer.version_count, pointer.active_version_uuid) == (2, second.agent_version_uuid)


async def test_the_active_version_cannot_be_made_inactive_by_itself(store: AsyncStore, ann: Context, values: Any) -> None:
    first = await create_first(store, ann, AGENTS, values["agent"])
    with pytest.raises(ActiveVersion):
        await update_version(store, ann, AGENTS, first.agent_version_uuid, {"status": "inactive"})
    with pytest.raises(BadField):
        await update_version(store, ann, AGENTS, first.agent_version_uuid, {"status": "sleeping"})


async def test_a_version_is_changed_in_place_without_another_one(store: AsyncStore, ann: Context, values: Any) -> None:
    first = await create_first(store, ann, AGENTS, values["agent"])
    changed = await update_version(store, ann, AGENTS, first.agent_version_uuid, {"instructions": "Be brief."})
    assert (changed.instructions, changed.agent_name, changed.revision) == ("Be brief.", "Helper", 2)
    assert await statuses(store, ann, AGENTS, first.agent_uuid) == ["active"]


async def test_two_changes_of_one_version_at_once_are_both_kept(
    store: AsyncStore, network: Interleaving, ann: Context, values: Any
) -> None:
    first = await create_first(store, ann, AGENTS, values["agent"])
    version = first.agent_version_uuid
    await asyncio.gather(
        *(
            update_version(store.using(network), ann, AGENTS, version, {name: "x"})
            for name in ("instructions", "agent_description", "tool_call_role")
        )
    )
    found = await find_version(store, ann, AGENTS, version)
    assert found is not None
    assert (found.instructions, found.agent_description, found.tool_call_role) == ("x", "x", "x")


async def test_what_does_not_exist_is_refused_or_none_at_once(store: AsyncStore, ann: Context) -> None:
    assert await find_active(store, ann, AGENTS, "none") is None
    assert await find_version(store, ann, AGENTS, "none") is None
    assert not await delete_version(store, ann, AGENTS, "none")
    with pytest.raises(NotFoundInPartition):
        await create_next(store, ann, AGENTS, "none", {})
    with pytest.raises(NotFoundInPartition):
        await update_version(store, ann, AGENTS, "none", {})


async def test_a_version_names_only_what_exists(store: AsyncStore, ann: Context, eve: Context, values: Any) -> None:
    with pytest.raises(UnknownReference, match="catalogue model 'nobody' 'gpt'"):
        await create_first(store, ann, AGENTS, {**values["agent"], "llm_provider": "nobody", "llm_name": "gpt"})
    theirs = await store.create(McpServer(partition=eve.partition, mcp_label="x", mcp_server_url="https://x.test"))
    with pytest.raises(UnknownReference, match="MCP server"):
        await create_first(store, ann, AGENTS, {**values["agent"], "mcp_server_uuids": [theirs.mcp_server_uuid]})
    assert [found async for found in store.query(Agent.in_partition, partition=ann.partition)] == []


async def test_a_version_lacks_nothing_that_it_needs(store: AsyncStore, ann: Context, values: Any) -> None:
    with pytest.raises(MissingField, match="agent_name, llm_name must be set"):
        await create_first(store, ann, AGENTS, {"llm_provider": "local"})


async def test_labels_name_versions_and_hold_them(store: AsyncStore, ann: Context, values: Any) -> None:
    first = await create_first(store, ann, AGENTS, values["agent"])
    await create_next(store, ann, AGENTS, first.agent_uuid, {})
    pointer = await label(store, ann, AGENTS, first.agent_uuid, "stable", first.agent_version_uuid)
    assert pointer.labels == {"stable": first.agent_version_uuid}
    with pytest.raises(StillUsed, match="label stable"):
        await delete_version(store, ann, AGENTS, first.agent_version_uuid)
    other = await create_first(store, ann, AGENTS, values["agent"])
    with pytest.raises(NotFoundInPartition):
        await label(store, ann, AGENTS, first.agent_uuid, "beta", other.agent_version_uuid)
    await label(store, ann, AGENTS, first.agent_uuid, "stable", None)
    assert await delete_version(store, ann, AGENTS, first.agent_version_uuid)


async def test_a_prompt_with_flows_keeps_its_last_version(store: AsyncStore, ann: Context, values: Any) -> None:
    flow = await create_first(store, ann, FLOWS, values["flow"])
    prompt = await find_active(store, ann, PROMPTS, flow.prompt_uuid)
    assert prompt is not None
    with pytest.raises(StillUsed, match="used by 1 other item"):
        await delete_version(store, ann, PROMPTS, prompt.prompt_version_uuid)
    assert await delete_version(store, ann, FLOWS, flow.flow_snippet_version_uuid)
    assert await delete_version(store, ann, PROMPTS, prompt.prompt_version_uuid)


async def test_a_deleted_reference_does_not_hold_what_named_it(store: AsyncStore, ann: Context, values: Any) -> None:
    agent = await create_first(store, ann, AGENTS, values["agent"])
    await store.run(delete(Llm.key(llm_provider="local", llm_name="small")))
    assert await delete_version(store, ann, AGENTS, agent.agent_version_uuid)


async def test_only_editors_change_versions(store: AsyncStore, ann: Context, values: Any) -> None:
    settings = AgentsSettings(endpoint_id="aws-prod", editors="authors")
    reader = assemble(Principal("rita", Role.MEMBER, tenant="acme"), settings)
    writer = assemble(Principal("will", Role.MEMBER, groups=frozenset({"authors"}), tenant="acme"), settings)
    with pytest.raises(NotAnEditor):
        await create_first(store, reader, AGENTS, values["agent"])
    agent = await create_first(store, writer, AGENTS, values["agent"])
    assert await find_active(store, reader, AGENTS, agent.agent_uuid) == agent
    for change in (
        create_next(store, reader, AGENTS, agent.agent_uuid, {}),
        delete_version(store, reader, AGENTS, agent.agent_version_uuid),
    ):
        with pytest.raises(NotAnEditor):
            await change


async def test_each_agent_is_listed_once_by_its_pointer(store: AsyncStore, ann: Context, values: Any) -> None:
    made = [await create_first(store, ann, AGENTS, values["agent"]) for _ in range(3)]
    await create_next(store, ann, AGENTS, made[0].agent_uuid, {})
    pointers = [one async for one in store.query(VersionPointer.of_kind, partition=ann.partition, kind="agent")]
    assert {one.logical_uuid for one in pointers} == {one.agent_uuid for one in made}
