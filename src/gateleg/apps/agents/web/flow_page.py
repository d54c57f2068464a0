"""The page of a flow: a preview in its prompt, versions with differences, and a form for a new version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nicegui import ui
from pydantic import BaseModel, Field, create_model

from gateleg.apps.agents.flow_moves import flow_job
from gateleg.apps.agents.flows import delete_flow, find_flow, save_flow
from gateleg.apps.agents.listing import MAX_LIMIT, Paging
from gateleg.apps.agents.prompts import find_prompt, list_prompts
from gateleg.apps.agents.versions import FLOWS
from gateleg.apps.agents.web.page_context import Visit, show_not_found
from gateleg.apps.agents.web.preview_part import PreviewPart
from gateleg.apps.agents.web.urls import FLOW, FRESH, HOME, PROMPT, item_place, tab_place
from gateleg.apps.agents.web.versions_part import VersionsPart
from gateleg.web.console.components import Crumb, ModelForm, Tabs, ago, button, empty, frame, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import FlowSnippet, PromptTemplate
    from gateleg.host import Resources

_TABS = (("preview", "Preview"), ("text", "Text"), ("versions", "Versions"), ("edit", "New version"))


class FlowForm(BaseModel):
    """The form of a flow."""

    name: str = Field(title="Name", min_length=1, max_length=200)
    #: `flow_form` sets the choices
    prompt: str = Field(title="Prompt")
    text: str = Field(default="", title="Text", max_length=200_000, description="replaces {flow_snippet} in the prompt")
    relationship: str = Field(default="", title="Relationship", max_length=200_000, description="how its steps follow each other")
    tools: list[str] = Field(default_factory=list, title="Enabled tools", description="names and patterns, one per line; empty for all")

    @classmethod
    def values_of(cls, flow: FlowSnippet) -> dict[str, Any]:
        """The form values of a flow."""
        return {
            "name": flow.flow_name,
            "prompt": flow.prompt_uuid,
            "text": flow.flow_context or "",
            "relationship": flow.flow_relationship or "",
            "tools": flow.enabled_tools,
        }

    def values(self) -> dict[str, Any]:
        """The attributes of the flow."""
        return {
            "flow_name": self.name,
            "prompt_uuid": self.prompt,
            "flow_context": self.text,
            "flow_relationship": self.relationship or None,
            "enabled_tools": self.tools,
        }


def flow_form(prompts: Sequence[PromptTemplate]) -> type[FlowForm]:
    """The form with the prompts of the tenant as choices."""
    chosen: Any = Literal[tuple(one.prompt_uuid for one in prompts)]
    labels: Any = {"labels": {one.prompt_uuid: one.prompt_name for one in prompts}}
    return create_model("FlowForm", __base__=FlowForm, prompt=(chosen, Field(title="Prompt", json_schema_extra=labels)))


async def _prompts(visit: Visit) -> list[PromptTemplate]:
    return (await list_prompts(visit.resources.store, visit.context, Paging(limit=MAX_LIMIT), statuses=("active",))).items


async def new_flow_page(resources: Resources[AgentsSettings], part: str = "") -> None:
    """The page for a new flow."""
    with frame(title="New flow", section="agents", crumbs=[Crumb("Agents", HOME)]) as view:
        visit = Visit.of(view, resources, part)
        prompts = await _prompts(visit)
        if not prompts:
            there = item_place(visit.context, PROMPT, FRESH)
            empty("box", "No prompts yet", "A flow is inserted into a prompt, so create a prompt first.", button="New prompt", href=there)
            return

        async def make(form: FlowForm) -> None:
            made = await save_flow(resources.store, visit.context, form.values())
            ui.navigate.to(item_place(visit.context, FLOW, made.flow_snippet_uuid))

        ModelForm(flow_form(prompts), make, title="New flow", submit="Create")


async def flow_page(
    resources: Resources[AgentsSettings], flow_uuid: str, part: str = "", tab: str = "", cursor: str = "", newer: int = 0
) -> None:
    """The page of a flow of the current tenant."""
    if flow_uuid == FRESH:
        await new_flow_page(resources, part)
        return
    with frame(title="Flow", section="agents", crumbs=[Crumb("Agents", HOME)], titled=False) as view:
        visit = Visit.of(view, resources, part)
        flow = await find_flow(resources.store, visit.context, flow_snippet_uuid=flow_uuid)
        if flow is None:
            show_not_found("flow")
            return
        prompt = await find_prompt(resources.store, visit.context, prompt_uuid=flow.prompt_uuid)
        _head(visit, flow, prompt)
        versions = VersionsPart(
            visit,
            FLOWS,
            flow_uuid,
            lambda **state: item_place(visit.context, FLOW, flow_uuid, **state),
            lambda version: delete_flow(resources.store, visit.context, version),
        )

        async def build(key: str) -> None:
            match key:
                case "preview" if prompt is not None:
                    PreviewPart(prompt.template_context, prompt.variables, flow.flow_context or "").show()
                case "text":
                    tag("pre", flow.flow_context or "The flow has no text.", "card agents-text", dir="auto")
                case "versions":
                    await versions.show(cursor, newer)
                case "edit":
                    await _edit(visit, flow)

        await Tabs(_TABS if visit.context.edits else _TABS[:-1], tab or None, build, keep=visit.kept).start()


def _head(visit: Visit, flow: FlowSnippet, prompt: PromptTemplate | None) -> None:
    async def duplicate() -> None:
        async def work() -> None:
            values = {"flow_snippet_version_uuid": flow.flow_snippet_version_uuid}
            await save_flow(visit.resources.store, visit.context, values, copied=True)

        await visit.do(work, "Duplicated", tab_place(visit.context, "flows"))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", flow.flow_name, dir="auto")
            with tag("p", classes="line gap-1 meta"):
                tag("span", "Flow of the prompt")
                if prompt is not None:
                    tag("a", prompt.prompt_name, "link", href=item_place(visit.context, PROMPT, prompt.prompt_uuid), dir="auto")
                tag("span", f"{len(flow.enabled_tools)} tools enabled" if flow.enabled_tools else "all tools enabled")
                ago(flow.updated_at)
        if visit.context.edits:
            with tag("div", classes="deeds"):
                button("Duplicate", duplicate, icon="content_copy", look="small")


async def _edit(visit: Visit, flow: FlowSnippet) -> None:
    """The form for a new version. Agents that use the flow move to it."""

    async def save(form: FlowForm) -> None:
        values = {**form.values(), "flow_snippet_uuid": flow.flow_snippet_uuid}
        await save_flow(visit.resources.store, visit.context, values, job=flow_job(visit.resources, visit.context))
        ui.navigate.to(item_place(visit.context, FLOW, flow.flow_snippet_uuid, tab="versions"))

    tag("p", "Active agents that use this flow get a new version with it.", "meta")
    form = flow_form(await _prompts(visit))
    ModelForm(form, save, title="New version", submit="Save as active version", values=FlowForm.values_of(flow))
