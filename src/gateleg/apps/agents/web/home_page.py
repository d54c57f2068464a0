"""The start page of a tenant: agents, prompts, flows, tool servers, runs, evaluations and usage; and the page for a new agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.agents.access import runs_host
from gateleg.apps.agents.save_checks import save_agent
from gateleg.apps.agents.web.agent_form import AgentForm, form_for_agent
from gateleg.apps.agents.web.evaluation_pages import show_evaluations
from gateleg.apps.agents.web.lists_part import show_agents, show_flows, show_prompts, show_runs, show_servers
from gateleg.apps.agents.web.page_context import Visit
from gateleg.apps.agents.web.tenants_part import offer_tenant_jobs, show_tenants
from gateleg.apps.agents.web.urls import HOME, NEW, agent_place, in_part
from gateleg.apps.agents.web.usage_part import show_usage
from gateleg.web.console.components import Crumb, ModelForm, Tabs, empty, frame, tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources

_TABS = (
    *(("agents", "Agents"), ("prompts", "Prompts"), ("flows", "Flows"), ("servers", "Tool servers"), ("runs", "Runs")),
    *(("evaluation", "Evaluation"), ("usage", "Usage")),
)
_TENANTS = ("tenants", "Tenants")
_BUILDERS = {
    "agents": show_agents,
    "prompts": show_prompts,
    "flows": show_flows,
    "servers": show_servers,
    "runs": show_runs,
    "tenants": show_tenants,
}


async def home_page(
    resources: Resources[AgentsSettings], part: str = "", tab: str = "", cursor: str = "", shown: Mapping[str, str] | None = None
) -> None:
    """The start page of a tenant. `shown` is the tab's state from the URL."""
    with frame(title="Agents", section="agents", titled=False) as view:
        visit = Visit.of(view, resources, part)
        with tag("div", classes="head"):
            with tag("div", classes="titles"):
                tag("h1", "Agents")
                tag("p", f"Tenant {visit.context.part_id}, endpoint {visit.context.endpoint_id}", "meta")
            with tag("div", classes="deeds"):
                if visit.kept:
                    offer_tenant_jobs(visit)
                if visit.context.edits:
                    with tag("a", classes="deed first", href=in_part(visit.context, NEW)):
                        ui.icon("add")
                        tag("span", "New agent")

        async def build(key: str) -> None:
            here, asked = (cursor, shown or {}) if key == (tab or "agents") else ("", {})
            match key:
                case "usage":
                    await show_usage(visit, here, asked.get("by", ""), asked.get("days", ""))
                case "evaluation":
                    await show_evaluations(visit, here, asked.get("sets", ""))
                case _:
                    await _BUILDERS[key](visit, here)

        tabs = (*_TABS, _TENANTS) if runs_host(view.principal) else _TABS
        await Tabs(tabs, tab or None, build, keep=visit.kept).start()


async def new_page(resources: Resources[AgentsSettings], part: str = "") -> None:
    """A new agent."""
    with frame(title="New agent", section="agents", crumbs=[Crumb("Agents", HOME)]) as view:
        visit = Visit.of(view, resources, part)
        form = await form_for_agent(visit)
        if form is None:
            empty("box", "No models yet", "Operators of the host add models to the catalogue with the mutation insertUpdateLlm.")
            return

        async def make(form: AgentForm) -> None:
            made = await save_agent(resources, visit.context, form.values())
            ui.navigate.to(agent_place(visit.context, made.agent_uuid))

        ModelForm(form, make, title="New agent", submit="Create")
