"""Many agents follow their flow to a new version by a job, on a host with a worker."""

import asyncio
from pathlib import Path
from typing import Any

from gateleg.apps.agents.agents import find_agent, list_agents, save_agent
from gateleg.apps.agents.flow_moves import MOVE_AGENTS, flow_job
from gateleg.apps.agents.flows import FEW, save_flow
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.prompts import save_prompt
from gateleg.apps.agents.running.local_model import LOCAL_LLM
from gateleg.jobs import JobStatus, follow_async
from tests.apps.agents.running.hosted import hosting


async def test_many_agents_are_moved_by_a_job_that_is_written_with_the_version(tmp_path: Path) -> None:
    async with hosting(tmp_path, work=False) as hosted:
        resources, context = hosted.resources, hosted.context()
        store = resources.store
        prompt = await save_prompt(store, context, {"prompt_type": "t", "prompt_name": "P", "template_context": "{flow_snippet}"})
        flow = await save_flow(store, context, {"flow_name": "F", "prompt_uuid": prompt.prompt_uuid, "flow_context": "old"})
        used = {"flow_snippet_version_uuid": flow.flow_snippet_version_uuid, "llm_provider": LOCAL_LLM[0], "llm_name": LOCAL_LLM[1]}
        made = [await save_agent(store, resources.secrets, context, {"agent_name": f"A{n}", **used}) for n in range(FEW + 2)]
        values: dict[str, Any] = {"flow_snippet_uuid": flow.flow_snippet_uuid, "flow_context": "new"}
        newer = await save_flow(store, context, values, job=flow_job(resources, context))
        assert await find_agent(store, context, agent_uuid=made[0].agent_uuid) == made[0]
        (job,) = (await resources.queue.own_jobs_page("ann", "acme", job_types=[MOVE_AGENTS])).items
        async with hosted.working(), asyncio.timeout(30):
            *_, last = [update async for update in follow_async(resources.queue, job.job_id, every=0.02)]
        assert (last.job.status, last.job.subject) == (JobStatus.COMPLETED, newer.flow_snippet_version_uuid)
        listed = await list_agents(store, context, Paging(), flow_snippet_version_uuid=newer.flow_snippet_version_uuid, statuses=["active"])
        assert {one.agent_uuid for one in listed.items} == {one.agent_uuid for one in made}
        assert {one.instructions for one in listed.items} == {"new"}
