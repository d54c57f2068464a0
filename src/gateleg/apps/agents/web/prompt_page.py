"""The page of a prompt: a preview, versions with differences, and a form for a new version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from nicegui import ui
from pydantic import BaseModel, Field, create_model

from gateleg.apps.agents.listing import Paging
from gateleg.apps.agents.prompts import delete_prompt, find_prompt, save_prompt
from gateleg.apps.agents.servers import list_servers
from gateleg.apps.agents.versions import PROMPTS
from gateleg.apps.agents.web.page_context import Visit, show_not_found
from gateleg.apps.agents.web.preview_part import PreviewPart
from gateleg.apps.agents.web.urls import FRESH, HOME, PROMPT, item_place, tab_place
from gateleg.apps.agents.web.versions_part import VersionsPart
from gateleg.web.console.components import Crumb, ModelForm, Tabs, ago, button, frame, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import McpServer, PromptTemplate
    from gateleg.host import Resources

_TABS = (("preview", "Preview"), ("template", "Template"), ("versions", "Versions"), ("edit", "New version"))


class DeclaredVariable(BaseModel):
    """A variable of a prompt."""

    name: str
    type: Literal["string", "integer", "number", "boolean", "list", "object"] | None = None
    default: Any = None
    required: bool | None = None
    options: list[Any] | None = None
    description: str | None = None


class PromptForm(BaseModel):
    """The form of a prompt."""

    name: str = Field(title="Name", min_length=1, max_length=200)
    type: str = Field(default="system", title="Type", min_length=1, max_length=200, description="prompts are grouped by type")
    description: str = Field(default="", title="Description", max_length=5_000)
    template: str = Field(
        title="Template",
        max_length=200_000,
        description="{name} is replaced by a variable, {flow_snippet} by the flow; {{name}} renders as {name}",
    )
    variables: list[DeclaredVariable] = Field(
        default_factory=list,
        title="Variables",
        description='As JSON: [{"name": "city", "type": "string", "default": "Rome"}]; also required and options',
    )

    @classmethod
    def values_of(cls, prompt: PromptTemplate) -> dict[str, Any]:
        """The form values of a prompt."""
        return {
            "name": prompt.prompt_name,
            "type": prompt.prompt_type,
            "description": prompt.prompt_description or "",
            "template": prompt.template_context,
            "variables": prompt.variables,
            "servers": [one["mcp_server_uuid"] for one in prompt.mcp_servers if one.get("mcp_server_uuid")],
        }

    def values(self) -> dict[str, Any]:
        """The attributes of the prompt. Without a form field, its tool servers are kept."""
        servers: list[str] | None = getattr(self, "servers", None)
        chosen = {} if servers is None else {"mcp_servers": [{"mcp_server_uuid": one} for one in servers]}
        return {
            "prompt_name": self.name,
            "prompt_type": self.type,
            "prompt_description": self.description or None,
            "template_context": self.template,
            "variables": [one.model_dump(exclude_none=True) for one in self.variables],
            **chosen,
        }


def prompt_form(servers: Sequence[McpServer]) -> type[PromptForm]:
    """The form with the tool servers of the tenant as choices, if there are any."""
    if not servers:
        return PromptForm
    chosen: Any = list[Literal[tuple(one.mcp_server_uuid for one in servers)]]  # type: ignore[misc]
    labels: Any = {"labels": {one.mcp_server_uuid: f"{one.mcp_label}: {one.mcp_server_url}" for one in servers}}
    field: Any = Field(
        default_factory=list, title="Tool servers", description="added to all agents with this prompt", json_schema_extra=labels
    )
    return create_model("PromptForm", __base__=PromptForm, servers=(chosen, field))


async def new_prompt_page(resources: Resources[AgentsSettings], part: str = "") -> None:
    """The page for a new prompt."""
    with frame(title="New prompt", section="agents", crumbs=[Crumb("Agents", HOME)]) as view:
        visit = Visit.of(view, resources, part)

        async def make(form: PromptForm) -> None:
            made = await save_prompt(resources.store, visit.context, form.values())
            ui.navigate.to(item_place(visit.context, PROMPT, made.prompt_uuid))

        servers = (await list_servers(resources.store, visit.context, Paging())).items
        ModelForm(prompt_form(servers), make, title="New prompt", submit="Create")


async def prompt_page(
    resources: Resources[AgentsSettings], prompt_uuid: str, part: str = "", tab: str = "", cursor: str = "", newer: int = 0
) -> None:
    """The page of a prompt of the current tenant."""
    if prompt_uuid == FRESH:
        await new_prompt_page(resources, part)
        return
    with frame(title="Prompt", section="agents", crumbs=[Crumb("Agents", HOME)], titled=False) as view:
        visit = Visit.of(view, resources, part)
        prompt = await find_prompt(resources.store, visit.context, prompt_uuid=prompt_uuid)
        if prompt is None:
            show_not_found("prompt")
            return
        _head(visit, prompt)
        versions = VersionsPart(
            visit,
            PROMPTS,
            prompt_uuid,
            lambda **state: item_place(visit.context, PROMPT, prompt_uuid, **state),
            lambda version: delete_prompt(resources.store, visit.context, version),
        )

        async def build(key: str) -> None:
            match key:
                case "preview":
                    PreviewPart(prompt.template_context, prompt.variables).show()
                case "template":
                    tag("pre", prompt.template_context, "card agents-text", dir="auto")
                case "versions":
                    await versions.show(cursor, newer)
                case "edit":
                    await _edit(visit, prompt)

        await Tabs(_TABS if visit.context.edits else _TABS[:-1], tab or None, build, keep=visit.kept).start()


def _head(visit: Visit, prompt: PromptTemplate) -> None:
    async def duplicate() -> None:
        async def work() -> None:
            values = {"prompt_version_uuid": prompt.prompt_version_uuid}
            await save_prompt(visit.resources.store, visit.context, values, copied=True)

        await visit.do(work, "Duplicated", tab_place(visit.context, "prompts"))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", prompt.prompt_name, dir="auto")
            if prompt.prompt_description:
                tag("p", prompt.prompt_description, "muted", dir="auto")
            with tag("p", classes="line gap-1 meta"):
                tag("span", f"Prompt of type {prompt.prompt_type}")
                tag("span", f"{len(prompt.variables)} variables")
                ago(prompt.updated_at)
        if visit.context.edits:
            with tag("div", classes="deeds"):
                button("Duplicate", duplicate, icon="content_copy", look="small")


async def _edit(visit: Visit, prompt: PromptTemplate) -> None:
    """The form for a new version."""
    servers = (await list_servers(visit.resources.store, visit.context, Paging())).items

    async def save(form: PromptForm) -> None:
        await save_prompt(visit.resources.store, visit.context, {**form.values(), "prompt_uuid": prompt.prompt_uuid})
        ui.navigate.to(item_place(visit.context, PROMPT, prompt.prompt_uuid, tab="versions"))

    form = prompt_form(servers)
    ModelForm(form, save, title="New version", submit="Save as active version", values=PromptForm.values_of(prompt))
