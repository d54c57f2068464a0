"""The page of an agent: ask it, its versions and what differs between them, its threads, and a form for its next version."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nicegui import ui

from gateleg.apps.agents.agents import delete_agent, find_agent, save_agent
from gateleg.apps.agents.catalogue import list_llms
from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.tables import Agent, Thread, VersionStatus
from gateleg.apps.agents.versions import AGENTS, activate, differences, versions_of
from gateleg.apps.agents.web.agent_form import AgentForm, agent_form
from gateleg.apps.agents.web.places import HOME, agent_place, in_part, thread_place
from gateleg.apps.agents.web.statuses import version_badge
from gateleg.apps.agents.web.visiting import Visit, not_there
from gateleg.web.console.components import (
    Column,
    Crumb,
    Grid,
    ModelForm,
    Row,
    Tabs,
    ago,
    ago_cell,
    button,
    confirm,
    empty,
    frame,
    pager,
    tag,
)

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.web import Resources

_TABS = (("threads", "Threads"), ("versions", "Versions"), ("instructions", "Instructions"), ("edit", "New version"))
_SIZE = 30
#: Versions whose differences are shown.
_VERSIONS = 30
_THREADS = (
    Column("title", "Thread"),
    Column("user", "User", desk=True),
    Column("runs", "Runs", right=True),
    Column("last", "Last activity"),
)


async def agent_page(resources: Resources[AgentsSettings], agent_uuid: str, part: str = "", tab: str = "", cursor: str = "") -> None:
    """An agent of the tenant that is looked at."""
    with frame(title="Agent", section="agents", crumbs=[Crumb("Agents", HOME)], titled=False) as view:
        visit = Visit.of(view, resources, part)
        agent = await find_agent(resources.store, visit.context, agent_uuid=agent_uuid)
        if agent is None:
            not_there("agent")
            return
        _head(visit, agent)

        async def build(key: str) -> None:
            match key:
                case "threads":
                    await _threads(visit, agent, cursor)
                case "versions":
                    await _versions(visit, agent)
                case "instructions":
                    tag("pre", agent.instructions or "None: the model answers as it is.", "agents-text", dir="auto")
                case "edit":
                    await _edit(visit, agent)

        await Tabs(_TABS if visit.context.edits else _TABS[:-1], tab or None, build).start()


def _head(visit: Visit, agent: Agent) -> None:
    async def duplicate() -> None:
        async def work() -> None:
            values = {"agent_version_uuid": agent.agent_version_uuid}
            made = await save_agent(visit.resources.store, visit.resources.secrets, visit.context, values, copied=True)
            ui.navigate.to(agent_place(visit.context, made.agent_uuid))

        await visit.do(work, "Duplicated", in_part(visit.context, HOME))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", agent.agent_name, dir="auto")
            if agent.agent_description:
                tag("p", agent.agent_description, "muted", dir="auto")
            with tag("p", classes="line gap-1 meta"):
                tag("span", f"{agent.llm_provider} {agent.configuration.get('model', '')}".strip())
                tag("span", f"{agent.num_of_messages} messages of history")
                ago(agent.updated_at)
        with tag("div", classes="deeds"):
            with tag("a", classes="deed small first", href=thread_place(visit.context, "new", agent=agent.agent_uuid)):
                ui.icon("chat")
                tag("span", "New thread")
            if visit.context.edits:
                button("Duplicate", duplicate, icon="content_copy", look="small")


async def _threads(visit: Visit, agent: Agent, cursor: str) -> None:
    """Threads with the agent that who looks may see, of the threads of the page."""
    context, store = visit.context, visit.resources.store
    mine = Thread.of_owner(partition=context.partition, owner_id=context.owner).filter(Thread.agent_uuid == agent.agent_uuid)
    question = Thread.of_agent(partition=context.partition, agent_uuid=agent.agent_uuid) if context.sees_all else mine
    page = await store.page(question, limit=_SIZE, cursor=cursor or None)
    if not page.items and not cursor:
        empty("people", "No threads yet", "Begin one: the agent answers in it.")
        return
    rows = [
        Row(
            one.thread_uuid,
            {
                "title": one.title or one.thread_uuid,
                "user": one.user_id or one.owner_id.removeprefix("/"),
                "runs": f"{one.run_count:,}",
                "last": ago_cell(one.updated_at),
            },
            href=thread_place(context, one.thread_uuid),
        )
        for one in page
    ]
    Grid("Threads", _THREADS, rows)
    pager(agent_place(context, agent.agent_uuid), {}, cursor=cursor or None, following=page.next, shown=len(rows))


async def _versions(visit: Visit, agent: Agent) -> None:
    """The versions, newest first, each with what it changed."""
    question = versions_of(visit.context, AGENTS, agent.agent_uuid)
    found = [one async for one in visit.resources.store.query(question, consistent=True)]
    found.sort(key=lambda one: one.created_at, reverse=True)
    for number, one in enumerate(found[:_VERSIONS]):
        before = found[number + 1] if number + 1 < len(found) else None
        _version(visit, one, before, len(found) - number)
    if len(found) > _VERSIONS:
        tag("p", f"{len(found) - _VERSIONS} older versions are not shown.", "meta")


def _version(visit: Visit, one: Agent, before: Agent | None, number: int) -> None:
    there = agent_place(visit.context, one.agent_uuid, tab="versions")

    async def use() -> None:
        await visit.do(lambda: activate(visit.resources.store, visit.context, AGENTS, one.agent_version_uuid), "Active", there)

    async def delete() -> None:
        loss = "The newest of the others becomes the active one." if one.status is VersionStatus.ACTIVE else "The active version stays."
        if await confirm("Delete this version?", loss, verb="Delete"):
            resources, version = visit.resources, one.agent_version_uuid
            await visit.do(lambda: delete_agent(resources.store, resources.secrets, visit.context, version), "Deleted", there)

    with tag("article", classes="card stack gap-1"):
        with tag("div", classes="line gap-1 spread"):
            with tag("p", classes="line gap-1 meta"):
                tag("span", f"Version {number}", "strong")
                version_badge(one.status)
                tag("span", one.updated_by)
                ago(one.created_at)
            if visit.context.edits:
                with tag("div", classes="line gap-1"):
                    if one.status is not VersionStatus.ACTIVE:
                        button("Use this version", use, icon="check", look="small")
                    button("Delete", delete, icon="delete", look="small danger")
        if before is not None:
            _changes(differences(AGENTS, before, one))


def _changes(found: dict[str, tuple[Any, Any]]) -> None:
    """What a version changed, attribute by attribute."""
    if not found:
        tag("p", "Nothing differs from the version before.", "meta")
        return
    with tag("dl", classes="facts"):
        for name, (was, now) in found.items():
            tag("dt", name.replace("_", " "))
            with tag("dd"):
                tag("del", _shown(was), "agents-was", dir="auto")
                tag("ins", _shown(now), "agents-now", dir="auto")


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else "nothing" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 2_000 else f"{text[:2_000]} ... ({len(text):,} characters)"


async def _edit(visit: Visit, agent: Agent) -> None:
    """A form that makes the next version."""
    llms = (await list_llms(visit.resources.store, visit.context, Paging())).items

    async def save(form: AgentForm) -> None:
        values = {**form.values(), "agent_uuid": agent.agent_uuid}
        await save_agent(visit.resources.store, visit.resources.secrets, visit.context, values)
        ui.navigate.to(agent_place(visit.context, agent.agent_uuid, tab="versions"))

    ModelForm(agent_form(llms), save, title="New version", submit="Make it the active version", values=AgentForm.values_of(agent))
