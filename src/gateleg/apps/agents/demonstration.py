"""The demonstration: a guide that answers two questions about the demonstration of opinion maps.

The guide uses the small local model, which is not reliable at choosing tools or reading numbers. So the planner chooses the
tool (`running/tool_planner.py`), the tool's result is quoted, which is always right, and the model adds its own words, which may be wrong.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import AlreadyThere
from gateleg.apps.agents.running.job_types import DEMONSTRATE, DemonstrateConfig
from gateleg.apps.agents.running.local_model import LOCAL_LLM, add_local_model
from gateleg.apps.agents.tenancy import assemble
from gateleg.apps.agents.versions import AGENTS, create_first
from gateleg.host import LOCAL
from gateleg.jobs import Submission

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources

AGENT = "agent-town-guide"
#: The tools that the guide uses, if the application that provides them is installed.
TOOLS = "delphi.*"
_INSTRUCTIONS = "You answer questions from the facts that stand before them, in one or two short sentences."
QUESTIONS = ("Which groups of opinion are there in the town, and what divides them?", "What do all groups agree on?")


async def load(resources: Resources[AgentsSettings]) -> None:
    """Create the guide unless it exists, and submit the job that asks it once there is data. A second call changes nothing."""
    await add_local_model(resources.store)
    context = assemble(LOCAL, resources.settings)
    values = {
        "agent_uuid": AGENT,
        "agent_name": "Town guide",
        "agent_description": "Answers questions about the demonstration's town conversation.",
        "llm_provider": LOCAL_LLM[0],
        "llm_name": LOCAL_LLM[1],
        "instructions": _INSTRUCTIONS,
        "configuration": {"tools": [TOOLS], "planner": "nearest", "quote_tools": True, "max_tokens": 60, "temperature": 0, "seed": 1},
    }
    with suppress(AlreadyThere):
        await create_first(resources.store, context, AGENTS, values)
    config = DemonstrateConfig(agent_uuid=AGENT, tool=TOOLS, questions=list(QUESTIONS))
    await resources.queue.submit(Submission(DEMONSTRATE, config, idempotency_key="agents/demo", tags=["demo"], created_by="demo"))
