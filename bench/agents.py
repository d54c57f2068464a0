"""Nested GraphQL queries of agents beside graphene with PynamoDB, on the same tables of the same endpoint, in one run on one machine.

    python bench/agents.py [--rounds 20]

Both sides answer the same three queries of 100 rows each from our endpoint in another process. "Calls" are requests to it for one query.
Times are milliseconds from the document to its JSON: the best elapsed time of the rounds, and the median of the processor time, which other
programs of the machine disturb less; `x` compares the latter. The peer is measured twice: with a resolver for each row, as graphene's
tutorials have it, and with batches by aiodataloader. It lives in `.bench/agents`.

`agents_streams.py` measures the first token and many streams at once, `agents_migration.py` the migration of old tables.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from gateleg.apps.agents.application import application
from gateleg.apps.agents.catalogue_tables import TABLES, Llm, WizardSchema
from gateleg.apps.agents.graphql.calls import Call
from gateleg.apps.agents.graphql.schema import make_schema
from gateleg.apps.agents.partitions import Partition
from gateleg.apps.agents.settings import AgentsSettings
from gateleg.apps.agents.tables import (
    Agent,
    FlowSnippet,
    McpServer,
    PromptTemplate,
    Thread,
    VersionPointer,
    Wizard,
    WizardElement,
    WizardGroup,
)
from gateleg.apps.agents.tenancy import assemble
from gateleg.host import Principal, Role
from gateleg.host.host import settings_only_resources
from gateleg.host.settings import Settings
from gateleg.store import AsyncStore, Metrics
from peers import ours, running

HERE = Path(__file__).parent
PYTHON = HERE.parent / ".bench/agents/bin/python"
PACKAGES = ["graphene>=3.4", "pynamodb>=6", "aiodataloader"]
PARTITION = Partition("local", "acme")
ANN = Principal("ann", Role.MEMBER, tenant="acme")
ROWS = 100
QUERIES = {
    "threads with agent and llm": "{ threadList(limit: 100) { threadList { threadUuid agent { agentName llm { llmName className } } } } }",
    "agents with servers, flow and prompt": """{ agentList(limit: 100) { agentList { agentName mcpServers { mcpLabel }
        flowSnippet { flowName promptTemplate { promptName } } } } }""",
    "groups with wizards and schemas": """{ wizardGroupList(limit: 100) { wizardGroupList { wizardGroupName
        wizardItems { wizardTitle wizardSchema { wizardSchemaName } } } } }""",
}


async def fill(store: AsyncStore) -> None:
    """A hundred threads, agents, flows, prompts, servers and groups, each with parts of its own."""
    await store.create_tables(*TABLES)
    await store.put(Llm(llm_provider="local", llm_name="smol", module_name="m", class_name="LocalHandler"))
    schema: dict[str, Any] = {"wizard_schema_type": "form", "wizard_schema_name": "contact"}
    await store.put(WizardSchema(**schema))
    items: list[Any] = []
    own: dict[str, Any] = {"partition": PARTITION}
    for n in range(ROWS):
        prompt: dict[str, Any] = {
            "prompt_uuid": f"p{n:03}",
            "prompt_version_uuid": f"pv{n:03}",
            "prompt_type": "t",
            "prompt_name": f"Prompt {n}",
        }
        flow: dict[str, Any] = {
            "flow_snippet_uuid": f"f{n:03}",
            "flow_snippet_version_uuid": f"fv{n:03}",
            "prompt_uuid": f"p{n:03}",
            "flow_name": "Flow",
        }
        agent: dict[str, Any] = {
            "agent_uuid": f"a{n:03}",
            "agent_version_uuid": f"av{n:03}",
            "agent_name": f"Agent {n}",
            "llm_provider": "local",
        }
        items += [
            McpServer(**own, mcp_server_uuid=f"s{n:03}", mcp_label=f"Server {n}", mcp_server_url="https://tools.example"),
            PromptTemplate(**own, **prompt, template_context="Be kind."),
            FlowSnippet(**own, **flow),
            Agent(**own, **agent, llm_name="smol", flow_snippet_version_uuid=f"fv{n:03}", mcp_server_uuids=[f"s{n:03}"]),
            *(
                VersionPointer(**own, kind=kind, logical_uuid=f"{letter}{n:03}", active_version_uuid=f"{letter}v{n:03}")
                for kind, letter in (("agent", "a"), ("prompt", "p"))
            ),
            WizardElement(**own, element_uuid=f"e{n:03}", data_type="t", element_title="E", attribute_name="n", attribute_type="text"),
            Wizard(
                **own, wizard_uuid=f"w{n:03}", wizard_title="W", wizard_type="t", wizard_schema_type="form", wizard_schema_name="contact"
            ),
            WizardGroup(**own, wizard_group_uuid=f"g{n:03}", wizard_group_name=f"Group {n}", wizard_uuids=[f"w{n:03}"]),
        ]
    await store.batch_write(items)
    for n in range(ROWS):
        await store.create(Thread(**own, thread_uuid=f"t{n:03}", agent_uuid=f"a{n:03}", owner_id=ANN.owner))


async def measure_ours(store: AsyncStore, metrics: Metrics, rounds: int) -> dict[str, Any]:
    """Our schema, from a document to its JSON."""
    schema, resources = make_schema(), replace(settings_only_resources(application, Settings()), store=store)
    call = Call.of(None, resources, assemble(ANN, AgentsSettings()))  # type: ignore[arg-type]
    found: dict[str, Any] = {}
    for name, query in QUERIES.items():
        times = []
        for _ in range(rounds + 1):
            metrics.reset()
            begun, busy = time.perf_counter(), time.process_time()
            result = await schema.execute(query, context_value=call)
            answer = json.dumps(result.data)
            times.append(((time.perf_counter() - begun) * 1000, (time.process_time() - busy) * 1000))
            assert result.errors is None, result.errors
            calls = sum(tally.requests for tally in metrics.reset().values())
        found[name] = {"calls": calls, "times": times[1:], "answer": answer}
    return found


def measure_peer(url: str, way: str, rounds: int) -> dict[str, Any]:
    """graphene with PynamoDB, in its own environment."""
    command = [str(PYTHON), str(HERE / "agents_graphene.py"), url, way, str(rounds), str(PARTITION), ANN.owner]
    done = subprocess.run(command, input=json.dumps(QUERIES), capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def install() -> None:
    """Make the peer's environment, if it is not there."""
    if not PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", str(PYTHON.parents[1])], check=True)
        subprocess.run([str(PYTHON), "-m", "pip", "install", "--quiet", *PACKAGES], check=True)


def processor_time(figures: dict[str, Any]) -> float:
    """The median of the rounds, in milliseconds."""
    return float(statistics.median(busy for _, busy in figures["times"]))


async def main(rounds: int) -> None:
    """Measure, compare the answers, and print."""
    install()
    with running(ours("relaxed")) as url:
        metrics = Metrics()
        async with AsyncStore.connect(url, hooks=[metrics]) as store:
            await fill(store)
            sides = {"gateleg": await measure_ours(store, metrics, rounds)}
        for way, title in (("rows", "graphene, PynamoDB, a read for each row"), ("batches", "graphene, PynamoDB, aiodataloader")):
            sides[title] = measure_peer(url, way, rounds)
    table = Table(title=f"Nested GraphQL queries of {ROWS} rows over HTTP, {rounds} rounds")
    for column in ("query", "side", "calls", "best elapsed", "processor", "x gateleg"):
        table.add_column(column, justify="left" if column in ("query", "side") else "right")
    for name in QUERIES:
        first = sides["gateleg"][name]
        for side, figures in sides.items():
            assert sorted(figures[name]["answer"]) == sorted(first["answer"]), f"{side} answers {name} with something else"
            best, busy = min(elapsed for elapsed, _ in figures[name]["times"]), processor_time(figures[name])
            ratio = busy / processor_time(first)
            table.add_row(name, side, str(figures[name]["calls"]), f"{best:.1f}", f"{busy:.1f}", f"{ratio:.1f}")
    Console(width=140).print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    asyncio.run(main(parser.parse_args().rounds))
