"""Ask the demonstration's questions once its tools have data: other applications load their demonstrations at the same time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.running.questions import Question
from gateleg.apps.agents.running.submission import ask
from gateleg.apps.agents.running.tools.toolbox import matches
from gateleg.apps.agents.tenancy import assemble
from gateleg.errors import GatelegError
from gateleg.host import LOCAL
from gateleg.jobs import Snooze

if TYPE_CHECKING:
    from gateleg.apps.agents.running.job_types import DemonstrateConfig
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources
    from gateleg.jobs import JobContext

__all__ = ["ask_when_ready"]

#: Seconds between two attempts, and the number of attempts.
_AGAIN, _TIMES = 5.0, 240


async def ask_when_ready(job: JobContext, config: DemonstrateConfig, resources: Resources[AgentsSettings]) -> list[str]:
    """Ask the questions as soon as the agent's tools return data; returns the run ids. Without the tools it asks nothing."""
    tools = [one for one in resources.tools_for(LOCAL) if matches(one.name, config.tool)]
    if not tools:
        job.log(f"The tool {config.tool} is not available, so no questions are asked.")
        return []
    try:
        for tool in tools:
            await tool.call(LOCAL, {})
    except GatelegError as error:
        if job.attempt > _TIMES:
            raise
        job.progress(0.0, 1.0, f"waiting for {tool.name}: {error.message}")
        raise Snooze(_AGAIN) from None
    context = assemble(LOCAL, resources.settings)
    runs = []
    for number, text in enumerate(config.questions):
        question = Question(agent_uuid=config.agent_uuid, user_query=text, idempotency_key=f"demo/{number}", updated_by="demo")
        runs.append((await ask(resources, context, question)).run_uuid)
    return runs
