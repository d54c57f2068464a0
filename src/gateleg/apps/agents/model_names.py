"""Names of agents as models of the OpenAI API and as tools of MCP: each belongs to one logical agent of a tenant, for ever.

A name is reserved in the transaction that creates the agent. It stays with that agent over versions, other titles and its deletion: a
client that was configured with it reaches this agent or none. Agents that have no name yet (those of earlier releases and of imports) get
theirs the first time that names of their tenant are needed, in the order in which they were created.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING

from gateleg.apps.agents.access import check_editor
from gateleg.apps.agents.changes import WriteConflict, retry_on_conflict
from gateleg.apps.agents.errors import AlreadyThere, BadField, NotFoundInPartition
from gateleg.apps.agents.references import AGENT
from gateleg.apps.agents.tables import Agent, ModelName, VersionPointer
from gateleg.store import TransactionCanceled, create, patch, put

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from gateleg.apps.agents.partitions import Partition
    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore, WriteOperation

MAX_MODEL_NAME_LENGTH = 60
_NON_NAME_CHARACTERS = re.compile(r"[^a-z0-9]+")
_NAME = re.compile(rf"[a-z0-9_]{{1,{MAX_MODEL_NAME_LENGTH}}}")


def slug_of(title: str) -> str:
    """A title as lower-case letters, digits and underscores, without accents; empty if it has no letter of the Latin script or digit."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return _NON_NAME_CHARACTERS.sub("_", plain.lower()).strip("_")[:MAX_MODEL_NAME_LENGTH].strip("_")


def first_choice(agent: Agent) -> str:
    """The name that an agent gets unless it is taken: from its title, or from its id for titles in other scripts."""
    return slug_of(agent.agent_name) or f"agent_{hashlib.sha256(agent.agent_uuid.encode()).hexdigest()[:8]}"


async def reserve_name(store: AsyncStore, agent: Agent, pointer: VersionPointer) -> tuple[VersionPointer, list[WriteOperation[object]]]:
    """The pointer of a new agent with a free name, and the writes that reserve it, for the transaction that creates the agent.

    Older agents without a name get theirs first, so that a new one cannot take it.
    """
    await name_agents(store, agent.partition)
    name, reserved = await _free_name(store, agent)
    entry = ModelName(partition=agent.partition, model_name=name, agent_uuid=agent.agent_uuid)
    return pointer.model_copy(update={"model_name": name}), [] if reserved else [create(entry)]


async def _free_name(store: AsyncStore, agent: Agent) -> tuple[str, bool]:
    """The first of `name`, `name_2`, ... that nobody has, or that the agent has already; with whether it has it."""
    base, number = first_choice(agent), 1
    while True:
        suffix = "" if number == 1 else f"_{number}"
        name = base[: MAX_MODEL_NAME_LENGTH - len(suffix)] + suffix
        found = await store.find(ModelName, partition=agent.partition, model_name=name, consistent=True)
        if found is None or found.agent_uuid == agent.agent_uuid:
            return name, found is not None
        number += 1


async def name_agents(store: AsyncStore, partition: Partition) -> int:
    """Give names to the agents of a tenant that have none, those that were created first first; returns how many got one."""
    unnamed = [pointer async for pointer in _pointers(store, partition) if pointer.model_name is None]
    dated = sorted([(await _created_at(store, pointer), pointer.logical_uuid, pointer) for pointer in unnamed], key=lambda one: one[:2])
    for _, _, pointer in dated:
        await retry_on_conflict(lambda pointer=pointer: _name(store, pointer))  # type: ignore[misc]
    return len(dated)


async def _created_at(store: AsyncStore, pointer: VersionPointer) -> float:
    """When the first version of an agent was created; later than all others if it has none left."""
    question = Agent.versions(partition=pointer.partition, agent_uuid=pointer.logical_uuid)
    moments = [version.created_at.timestamp() async for version in store.query(question, consistent=True)]
    return min(moments, default=float("inf"))


async def _name(store: AsyncStore, pointer: VersionPointer) -> None:
    """Give an agent its name, unless another process does so at the same moment. Raises `WriteConflict` if the name was taken meanwhile."""
    current = await store.find(VersionPointer, partition=pointer.partition, kind=AGENT, logical_uuid=pointer.logical_uuid, consistent=True)
    if current is None or current.model_name is not None:
        return
    agent = await store.find(Agent, partition=current.partition, agent_version_uuid=current.active_version_uuid, consistent=True)
    if agent is None:
        return
    name, reserved = await _free_name(store, agent)
    entry = ModelName(partition=agent.partition, model_name=name, agent_uuid=agent.agent_uuid)
    unnamed = patch(current, VersionPointer.model_name.set(name), condition=VersionPointer.model_name.missing(), returning="none")
    try:
        await store.transact([unnamed, *([] if reserved else [create(entry)])])
    except TransactionCanceled:
        raise WriteConflict from None


async def find_by_name(store: AsyncStore, partition: Partition, name: str) -> str | None:
    """The id of the agent that a name belongs to, even if it was deleted; None if nobody ever had the name. One read for a known name."""
    for wanted in dict.fromkeys((name, slug_of(name))):
        if not _NAME.fullmatch(wanted):
            continue
        found = await store.find(ModelName, partition=partition, model_name=wanted, consistent=True)
        if found is None and await name_agents(store, partition):
            found = await store.find(ModelName, partition=partition, model_name=wanted, consistent=True)
        if found is not None:
            return found.agent_uuid
    return None


async def named_pointers(store: AsyncStore, partition: Partition, limit: int) -> list[VersionPointer]:
    """The pointers to a tenant's agents, all of which have names, by name."""
    found = [pointer async for pointer in _pointers(store, partition, limit)]
    if any(pointer.model_name is None for pointer in found):
        await name_agents(store, partition)
        found = [pointer async for pointer in _pointers(store, partition, limit)]
    return sorted((one for one in found if one.model_name is not None), key=lambda one: str(one.model_name))


async def rename_model(store: AsyncStore, context: Context, agent_uuid: str, name: str) -> VersionPointer:
    """Give an agent another name. The earlier one still leads to it. A name that a deleted agent had may be given to another one here.

    Raises `AlreadyThere` for a name that belongs to another agent, or that another agent had before.
    """
    check_editor(context)
    if not _NAME.fullmatch(name):
        allowed = f"1 to {MAX_MODEL_NAME_LENGTH} lower-case letters, digits and underscores"
        raise BadField(f"A model name has {allowed}.", details={"field": "model_name"})

    async def attempt() -> VersionPointer:
        await name_agents(store, context.partition)
        pointer = await _pointer_of(store, context.partition, agent_uuid)
        if pointer is None:
            raise NotFoundInPartition(f"There is no agent {agent_uuid!r}.")
        writes: list[WriteOperation[object]] = [patch(pointer, VersionPointer.model_name.set(name), returning="none")]
        entry = ModelName(partition=context.partition, model_name=name, agent_uuid=agent_uuid)
        holder = await store.find(ModelName, partition=context.partition, model_name=name, consistent=True)
        if holder is None:
            writes.append(create(entry))
        elif holder.agent_uuid != agent_uuid:
            if await _pointer_of(store, context.partition, holder.agent_uuid) is not None:
                raise AlreadyThere(f"The model name {name!r} belongs to another agent, {holder.agent_uuid!r}.", fix="Choose another name.")
            writes.append(put(entry, condition=ModelName.agent_uuid == holder.agent_uuid))
        try:
            await store.transact(writes)
        except TransactionCanceled:
            raise WriteConflict from None
        return pointer.model_copy(update={"model_name": name})

    return await retry_on_conflict(attempt)


async def _pointer_of(store: AsyncStore, partition: Partition, agent_uuid: str) -> VersionPointer | None:
    return await store.find(VersionPointer, partition=partition, kind=AGENT, logical_uuid=agent_uuid, consistent=True)


async def _pointers(store: AsyncStore, partition: Partition, limit: int | None = None) -> AsyncIterator[VersionPointer]:
    async for pointer in store.query(VersionPointer.of_kind(partition=partition, kind=AGENT), consistent=True, limit=limit):
        yield pointer
