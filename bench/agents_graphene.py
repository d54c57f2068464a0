"""The peer of `bench/agents.py`: graphene with PynamoDB, with a read for each row or with batches. It runs in an environment of its own."""
# mypy: ignore-errors

import asyncio
import json
import os
import sys
import time

os.environ.setdefault("AWS_ACCESS_KEY_ID", "local")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "local")

import graphene
from aiodataloader import DataLoader
from pynamodb.attributes import JSONAttribute, ListAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.connection.base import Connection
from pynamodb.indexes import AllProjection, LocalSecondaryIndex
from pynamodb.models import Model

URL, WAY, ROUNDS, PARTITION, OWNER = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
CALLS = 0
_send = Connection._make_api_call


def counted(self, *args, **kwargs):
    """Count what PynamoDB sends, but for the descriptions of tables, which it asks for once."""
    global CALLS
    CALLS += args[0] != "DescribeTable"
    return _send(self, *args, **kwargs)


Connection._make_api_call = counted


def table(name, **attributes):
    """A model of one table."""
    meta = type("Meta", (), {"table_name": f"aace-{name}", "host": URL, "region": "eu-west-1"})
    return type(name.title().replace("_", ""), (Model,), {"Meta": meta, **attributes})


def hashed():
    return UnicodeAttribute(hash_key=True)


def ranged():
    return UnicodeAttribute(range_key=True)


def text():
    return UnicodeAttribute(null=True)


def by_update():
    meta = type("Meta", (), {"index_name": "updated_at-index", "projection": AllProjection()})
    return type("ByUpdate", (LocalSecondaryIndex,), {"Meta": meta, "partition_key": hashed(), "updated_at": ranged()})()


def by_owner():
    meta = type("Meta", (), {"index_name": "owner-index", "projection": AllProjection()})
    return type("ByOwner", (LocalSecondaryIndex,), {"Meta": meta, "partition_key": hashed(), "owner_activity": ranged()})()


Threads = table("threads", partition_key=hashed(), thread_uuid=ranged(), agent_uuid=text(), owner_activity=text(), by_owner=by_owner())
Agents = table(
    "agents",
    partition_key=hashed(),
    agent_version_uuid=ranged(),
    agent_uuid=text(),
    agent_name=text(),
    llm_provider=text(),
    llm_name=text(),
    flow_snippet_version_uuid=text(),
    mcp_server_uuids=ListAttribute(null=True),
    updated_at=text(),
    by_update=by_update(),
)
Pointers = table("version_pointers", partition_key=hashed(), pointer=ranged(), active_version_uuid=text())
Llms = table("llms", llm_provider=hashed(), llm_name=ranged(), class_name=text())
Servers = table("mcp_servers", partition_key=hashed(), mcp_server_uuid=ranged(), mcp_label=text())
Flows = table("flow_snippets", partition_key=hashed(), flow_snippet_version_uuid=ranged(), flow_name=text(), prompt_uuid=text())
Prompts = table("prompt_templates", partition_key=hashed(), prompt_version_uuid=ranged(), prompt_name=text())
Groups = table(
    "wizard_groups",
    partition_key=hashed(),
    wizard_group_uuid=ranged(),
    wizard_group_name=text(),
    wizard_uuids=ListAttribute(null=True),
    updated_at=text(),
    by_update=by_update(),
)
Wizards = table(
    "wizards", partition_key=hashed(), wizard_uuid=ranged(), wizard_title=text(), wizard_schema_type=text(), wizard_schema_name=text()
)
Schemas = table("wizard_schemas", wizard_schema_type=hashed(), wizard_schema_name=ranged())
del JSONAttribute, NumberAttribute


class Batches(DataLoader):
    """Items of a table by their keys, read together."""

    def __init__(self, model):
        super().__init__(max_batch_size=100)
        self.model = model

    async def batch_load_fn(self, keys):
        first, second = self.model._hash_keyname, self.model._range_keyname
        found = {(getattr(one, first), getattr(one, second)): one for one in self.model.batch_get(keys)}
        return [found.get(key) for key in keys]


async def find(info, model, *key):
    """One item: at once, or in the next batch."""
    if None in key:
        return None
    if WAY == "batches":
        return await info.context.setdefault(model, Batches(model)).load(key)
    try:
        return model.get(*key)
    except model.DoesNotExist:
        return None


async def find_active(info, model, kind, letter_id):
    pointer = await find(info, Pointers, PARTITION, f"{kind}#{letter_id}")
    return pointer and await find(info, model, PARTITION, pointer.active_version_uuid)


class Llm(graphene.ObjectType):
    llm_name, class_name = graphene.String(), graphene.String()


class Server(graphene.ObjectType):
    mcp_label = graphene.String()


class Prompt(graphene.ObjectType):
    prompt_name = graphene.String()


class Flow(graphene.ObjectType):
    flow_name, prompt_template = graphene.String(), graphene.Field(Prompt)

    async def resolve_prompt_template(self, info):
        return await find_active(info, Prompts, "prompt", self.prompt_uuid)


class Agent(graphene.ObjectType):
    agent_name, llm, mcp_servers, flow_snippet = graphene.String(), graphene.Field(Llm), graphene.List(Server), graphene.Field(Flow)

    async def resolve_llm(self, info):
        return await find(info, Llms, self.llm_provider, self.llm_name)

    async def resolve_mcp_servers(self, info):
        return await asyncio.gather(*(find(info, Servers, PARTITION, one) for one in self.mcp_server_uuids))

    async def resolve_flow_snippet(self, info):
        return await find(info, Flows, PARTITION, self.flow_snippet_version_uuid)


class Thread(graphene.ObjectType):
    thread_uuid, agent = graphene.String(), graphene.Field(Agent)

    async def resolve_agent(self, info):
        return await find_active(info, Agents, "agent", self.agent_uuid)


class Schema(graphene.ObjectType):
    wizard_schema_name = graphene.String()


class Wizard(graphene.ObjectType):
    wizard_title, wizard_schema = graphene.String(), graphene.Field(Schema)

    async def resolve_wizard_schema(self, info):
        return await find(info, Schemas, self.wizard_schema_type, self.wizard_schema_name)


class Group(graphene.ObjectType):
    wizard_group_name, wizard_items = graphene.String(), graphene.List(Wizard)

    async def resolve_wizard_items(self, info):
        return await asyncio.gather(*(find(info, Wizards, PARTITION, one) for one in self.wizard_uuids))


class ThreadList(graphene.ObjectType):
    thread_list = graphene.List(Thread)


class AgentList(graphene.ObjectType):
    agent_list = graphene.List(Agent)


class GroupList(graphene.ObjectType):
    wizard_group_list = graphene.List(Group)


class Query(graphene.ObjectType):
    thread_list = graphene.Field(ThreadList, limit=graphene.Int())
    agent_list = graphene.Field(AgentList, limit=graphene.Int())
    wizard_group_list = graphene.Field(GroupList, limit=graphene.Int())

    def resolve_thread_list(self, info, limit):
        condition = Threads.owner_activity.startswith(f"{OWNER}#")
        return {"thread_list": list(Threads.by_owner.query(PARTITION, condition, scan_index_forward=False, limit=limit))}

    def resolve_agent_list(self, info, limit):
        return {"agent_list": list(Agents.by_update.query(PARTITION, scan_index_forward=False, limit=limit))}

    def resolve_wizard_group_list(self, info, limit):
        return {"wizard_group_list": list(Groups.by_update.query(PARTITION, scan_index_forward=False, limit=limit))}


async def main():
    """Measure the queries on standard input, and print the figures."""
    global CALLS
    schema, found = graphene.Schema(query=Query), {}
    for name, query in json.load(sys.stdin).items():
        times = []
        for _ in range(ROUNDS + 1):
            CALLS, begun, busy = 0, time.perf_counter(), time.process_time()
            result = await schema.execute_async(query, context_value={})
            answer = json.dumps(result.data)
            times.append(((time.perf_counter() - begun) * 1000, (time.process_time() - busy) * 1000))
            assert result.errors is None, result.errors
        found[name] = {"calls": CALLS, "times": times[1:], "answer": answer}
    print(json.dumps(found))


asyncio.run(main())
