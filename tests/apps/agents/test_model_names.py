"""Names of agents in `/v1` and MCP: each belongs to one agent, whatever colleagues do."""

import asyncio
import random
from typing import Any

import pytest

from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.errors import AlreadyThere, BadField, NotAnEditor, NotFoundInPartition
from gateleg.apps.agents.model_names import first_choice, rename_model, slug_of
from gateleg.apps.agents.running.directory import find_named_agent, list_agents
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tables import Agent, ModelName, VersionPointer
from gateleg.apps.agents.tenancy import Context, assemble
from gateleg.apps.agents.versions import AGENTS, create_first, create_next, delete_version, duplicate
from gateleg.host import Principal, Role
from gateleg.store import AsyncStore
from tests.apps.agents.conftest import Interleaving


@pytest.fixture(autouse=True)
async def catalogue(store: AsyncStore) -> None:
    await store.create(Llm(llm_provider="local", llm_name="small", module_name="m", class_name="C"))


async def made(store: AsyncStore, context: Context, title: str, **values: Any) -> Agent:
    return await create_first(store, context, AGENTS, {"agent_name": title, "llm_provider": "local", "llm_name": "small", **values})


async def names(store: AsyncStore, context: Context) -> dict[str, str]:
    return {name: agent.agent_uuid for name, agent in (await list_agents(store, context.partition)).items()}


async def test_a_name_stays_with_its_agent_over_versions_titles_and_deletions(store: AsyncStore, ann: Context, bob: Context) -> None:
    first, second = await made(store, ann, "Dupe"), await made(store, bob, "Dupe")
    assert await names(store, ann) == {"dupe": first.agent_uuid, "dupe_2": second.agent_uuid}
    newer = await create_next(store, ann, AGENTS, first.agent_uuid, {"agent_description": "touched"})
    await create_next(store, bob, AGENTS, second.agent_uuid, {"agent_name": "Duplicate"})
    assert await names(store, ann) == {"dupe": first.agent_uuid, "dupe_2": second.agent_uuid}
    for version in (newer.agent_version_uuid, first.agent_version_uuid):
        await delete_version(store, ann, AGENTS, version)
    third = await made(store, bob, "Dupe")
    assert await names(store, ann) == {"dupe_2": second.agent_uuid, "dupe_3": third.agent_uuid}
    with pytest.raises(NotFoundInPartition):
        await find_named_agent(store, ann.partition, "dupe")


async def test_titles_lead_to_the_agent_whose_name_was_made_from_them(store: AsyncStore, ann: Context, bob: Context) -> None:
    first = await made(store, ann, "Town guide")
    await made(store, bob, "Town guide")
    for wanted in ("Town guide", "town_guide", first.agent_uuid):
        assert (await find_named_agent(store, ann.partition, wanted)).agent_uuid == first.agent_uuid


async def test_tenants_have_names_of_their_own(store: AsyncStore, ann: Context, eve: Context) -> None:
    here, there = await made(store, ann, "Guide"), await made(store, eve, "Guide")
    assert (await names(store, ann), await names(store, eve)) == ({"guide": here.agent_uuid}, {"guide": there.agent_uuid})


async def unname(store: AsyncStore, context: Context, *agents: Agent) -> None:
    """Store agents as a release without names did."""
    for agent in agents:
        pointer = VersionPointer.key(partition=context.partition, kind="agent", logical_uuid=agent.agent_uuid)
        await store.patch(pointer, VersionPointer.model_name.remove())
    async for entry in store.query(ModelName.in_partition(partition=context.partition)):
        if entry.agent_uuid in {agent.agent_uuid for agent in agents}:
            await store.delete(entry)


@pytest.mark.parametrize("door", ["list", "find", "create", "rename"])
async def test_agents_of_an_earlier_release_are_named_once_in_the_order_of_their_first_versions(
    store: AsyncStore, ann: Context, bob: Context, door: str
) -> None:
    agents = [await made(store, ann, "Dupe", agent_uuid=f"agent-{number}") for number in (3, 1, 2)]
    await unname(store, ann, *agents)
    # By its active version, the first one would now be the last.
    await create_next(store, ann, AGENTS, "agent-3", {"agent_description": "touched"})
    match door:
        case "list":
            await list_agents(store, ann.partition)
        case "find":
            assert (await find_named_agent(store, ann.partition, "dupe_3")).agent_uuid == "agent-2"
        case "create":
            assert (await made(store, bob, "Dupe", agent_uuid="agent-0")).agent_uuid == "agent-0"
        case "rename":
            with pytest.raises(AlreadyThere):
                await rename_model(store, bob, "agent-2", "dupe")
    expected = {"dupe": "agent-3", "dupe_2": "agent-1", "dupe_3": "agent-2"}
    assert expected.items() <= (await names(store, ann)).items()
    await create_next(store, ann, AGENTS, "agent-1", {"agent_name": "Other"})
    assert expected.items() <= (await names(store, ann)).items()


async def test_agents_created_and_named_at_the_same_moment_have_different_names(
    store: AsyncStore, network: Interleaving, ann: Context
) -> None:
    together = AsyncStore(network, random=random.Random(1))
    old = [await made(store, ann, "Dupe", agent_uuid=f"old-{number}") for number in range(3)]
    await unname(store, ann, *old)
    work = [made(together, ann, "Dupe", agent_uuid=f"new-{number}") for number in range(4)]
    await asyncio.gather(*work, *(list_agents(together, ann.partition) for _ in range(3)))
    found = await names(store, ann)
    assert sorted(found.values()) == [*(f"new-{number}" for number in range(4)), *(f"old-{number}" for number in range(3))]
    assert [found[name] for name in ("dupe", "dupe_2", "dupe_3")] == ["old-0", "old-1", "old-2"]


async def test_a_known_name_is_found_with_one_read_besides_the_agent(store: AsyncStore, network: Interleaving, ann: Context) -> None:
    agents = [await made(store, ann, f"Agent {number}") for number in range(20)]
    found = await find_named_agent(AsyncStore(network), ann.partition, "agent_7")
    assert found.agent_uuid == agents[7].agent_uuid
    assert network.calls == ["GetItem"] * 3


async def test_a_new_name_is_given_explicitly_and_the_earlier_one_still_leads_there(store: AsyncStore, ann: Context, bob: Context) -> None:
    first, second = await made(store, ann, "Trip"), await made(store, ann, "Other")
    await rename_model(store, ann, first.agent_uuid, "travel")
    assert await names(store, ann) == {"travel": first.agent_uuid, "other": second.agent_uuid}
    assert (await find_named_agent(store, ann.partition, "trip")).agent_uuid == first.agent_uuid
    for taken in ("trip", "travel"):
        with pytest.raises(AlreadyThere, match="belongs to another agent"):
            await rename_model(store, bob, second.agent_uuid, taken)
    assert (await made(store, bob, "Trip")).agent_uuid == (await names(store, ann))["trip_2"]
    assert (await rename_model(store, ann, first.agent_uuid, "trip")).model_name == "trip"


async def test_the_name_of_a_deleted_agent_is_given_to_another_one_only_explicitly(store: AsyncStore, ann: Context) -> None:
    first, second = await made(store, ann, "Trip"), await made(store, ann, "Trip")
    await delete_version(store, ann, AGENTS, first.agent_version_uuid)
    assert await names(store, ann) == {"trip_2": second.agent_uuid}
    await rename_model(store, ann, second.agent_uuid, "trip")
    assert (await find_named_agent(store, ann.partition, "trip")).agent_uuid == second.agent_uuid


async def test_only_editors_rename_and_only_to_possible_names(store: AsyncStore, ann: Context) -> None:
    agent = await made(store, ann, "Trip")
    for name in ("", "Trip", "a b", "é", "x" * 61, "a-b", "a#b"):
        with pytest.raises(BadField):
            await rename_model(store, ann, agent.agent_uuid, name)
    with pytest.raises(NotFoundInPartition):
        await rename_model(store, ann, "nobody", "name")
    reader = assemble(Principal("rea", Role.MEMBER, tenant="acme"), AgentsSettings(endpoint_id="aws-prod", editors="staff"))
    with pytest.raises(NotAnEditor):
        await rename_model(store, reader, agent.agent_uuid, "name")


async def test_a_copy_has_a_name_of_its_own(store: AsyncStore, ann: Context) -> None:
    agent = await made(store, ann, "Trip")
    copy = await duplicate(store, ann, AGENTS, agent.agent_version_uuid)
    assert await names(store, ann) == {"trip": agent.agent_uuid, "trip_copy": copy.agent_uuid}


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Town guide", "town_guide"),
        ("Café Übersetzer №5", "cafe_ubersetzer_no5"),
        ("x" * 90, "x" * 60),
        ("GPT помощник", "gpt"),
        ("旅行", ""),
    ],
)
def test_names_are_made_from_titles(title: str, name: str) -> None:
    assert slug_of(title) == name


async def test_titles_in_other_scripts_get_different_names_that_stay(store: AsyncStore, ann: Context) -> None:
    first, second = await made(store, ann, "旅行"), await made(store, ann, "旅行")
    found = await names(store, ann)
    assert found == {first_choice(first): first.agent_uuid, first_choice(second): second.agent_uuid}
    assert all(name.startswith("agent_") and len(name) == 14 for name in found)
