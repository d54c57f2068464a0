"""A host that serves Delphi, with a conversation that has runs, and callers of every kind."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from uuid import UUID, uuid4

import httpx

from gateleg.apps.delphi.application import application
from gateleg.apps.delphi.conversations.conversation import Conversation
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, TOPICS_STAGE, Origin
from gateleg.apps.delphi.runs.report_runs import run_report
from gateleg.apps.delphi.runs.topic_rows import topics_summary
from gateleg.apps.delphi.runs.topic_runs import write_topics
from gateleg.apps.delphi.service import VOTES_STAGE, complete_run, run_votes, start_run, upload_conversation
from gateleg.apps.delphi.topics.stage import Topics, analyse_comments
from gateleg.host.host import Host
from gateleg.host.principal import Role
from gateleg.host.settings import Settings
from gateleg.web.app import create_app
from tests.apps.delphi.texts import local_embeddings
from tests.apps.delphi.told import synthetic

GROUP = "planners"
#: Everybody who may come: their role, and whether they are of the group that the conversation belongs to.
CALLERS = {
    "stranger": (Role.MEMBER, "others"),
    "member": (Role.MEMBER, GROUP),
    "viewer": (Role.VIEWER, "others"),
    "operator": (Role.OPERATOR, "others"),
    "admin": (Role.ADMIN, "others"),
}


def conversation(name: str = "town") -> Conversation:
    return replace(synthetic().conversation, conversation_id=name)


@cache
def _topics() -> Topics:
    """Topics of the first comments: few enough to do without a long computation."""
    return analyse_comments(synthetic().conversation.comments[:7], local_embeddings())


@dataclass(frozen=True)
class Served:
    """The host, its callers by name, and the jobs of the conversation's stages."""

    host: Host
    callers: dict[str, httpx.AsyncClient]
    root: UUID
    votes: UUID
    topics: UUID
    report: UUID

    def __getitem__(self, name: str) -> httpx.AsyncClient:
        return self.callers[name]


@asynccontextmanager
async def serving(folder: Path, group: str | None = GROUP) -> AsyncIterator[Served]:
    """A host with the conversation `town` of a group, analysed once."""
    settings = Settings(store="embedded::memory:", objects=f"dir:{folder}/objects", data=folder)
    async with Host.open(settings, [application]) as host:
        app = create_app(host, console=False)
        tokens = {name: (await host.keys.create(name, role, groups=[own])).token for name, (role, own) in CALLERS.items()}
        heads: dict[str, dict[str, str]] = {"nobody": {}} | {name: {"authorization": f"Bearer {token}"} for name, token in tokens.items()}
        callers = {
            name: httpx.AsyncClient(
                transport=httpx.ASGITransport(app, client=("127.0.0.1", 50_000)), base_url="http://127.0.0.1:8000", headers=head
            )
            for name, head in heads.items()
        }
        root = uuid4()
        jobs = await analysed(host, group, root)
        yield Served(host, callers, root, *jobs)
        for client in callers.values():
            await client.aclose()


async def analysed(host: Host, group: str | None, root: UUID, config: VotesConfig | None = None) -> tuple[UUID, UUID, UUID]:
    """Upload the conversation and run its stages as those of a pipeline; their jobs."""
    store = host.store

    def origin(stage: str) -> Origin:
        return Origin(uuid4(), "town", store.setup.now(), root_job_id=root, job_stage=stage)

    await upload_conversation(store, conversation(), group=group)
    votes = await run_votes(store, origin(VOTES_STAGE), config or VotesConfig())
    where = origin(TOPICS_STAGE)
    run, _ = await start_run(store, where, _topics().config.model_dump(mode="json"))
    await write_topics(store, _topics(), conversation().comments, where)
    topics = await complete_run(store, run, summary=topics_summary(_topics()))
    report = await run_report(store, host.objects, origin(REPORT_STAGE))
    return votes.job_id, topics.job_id, report.job_id
