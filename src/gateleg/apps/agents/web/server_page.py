"""The page of a tenant's MCP server: health, tools, and a form to change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nicegui import ui
from pydantic import BaseModel, Field

from gateleg.apps.agents.errors import McpFailed
from gateleg.apps.agents.running.tools.mcp_servers import list_tools
from gateleg.apps.agents.running.tools.registered import resolve_server
from gateleg.apps.agents.save_checks import save_server
from gateleg.apps.agents.secret_references import redact_headers
from gateleg.apps.agents.servers import delete_server, find_server
from gateleg.apps.agents.web.page_context import Visit, show_not_found
from gateleg.apps.agents.web.urls import FRESH, HOME, SERVER, item_place, tab_place
from gateleg.errors import GatelegError
from gateleg.web.console.components import Column, Crumb, Grid, ModelForm, Row, Tabs, ago, badge, button, confirm, frame, tag

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tables import McpServer
    from gateleg.host import Resources

_TABS = (("tools", "Health and tools"), ("about", "URL and headers"), ("edit", "Edit"))
_TOOLS = (Column("name", "Tool"), Column("about", "About", wraps=True), Column("inputs", "Arguments", wraps=True, desk=True))


class ServerForm(BaseModel):
    """The form of an MCP server."""

    label: str = Field(title="Label", min_length=1, max_length=200, description="its tools are called label.tool")
    url: str = Field(title="URL", min_length=1, description="such as https://tools.example.com/mcp")
    headers: dict[str, str] = Field(
        default_factory=dict,
        title="Headers",
        description='As JSON: {"X-Api-Key": "..."}. Values are stored encrypted and never shown again; secret:NAME refers to a secret',
    )
    allowed: list[str] = Field(default_factory=list, title="Allowed tools", description="names, one per line; empty for all")

    @classmethod
    def values_of(cls, server: McpServer) -> dict[str, Any]:
        """The form values of a server. Its header values are references."""
        return {
            "label": server.mcp_label,
            "url": server.mcp_server_url,
            "headers": redact_headers(server.headers),
            "allowed": server.allowed_tools or [],
        }

    def values(self) -> dict[str, Any]:
        """The attributes of the server."""
        return {"mcp_label": self.label, "mcp_server_url": self.url, "headers": self.headers, "allowed_tools": self.allowed}


async def server_page(resources: Resources[AgentsSettings], server_uuid: str, part: str = "", tab: str = "") -> None:
    """The page of a tool server of the current tenant, or for a new one."""
    if server_uuid == FRESH:
        await _new_page(resources, part)
        return
    with frame(title="Tool server", section="agents", crumbs=[Crumb("Agents", HOME)], titled=False) as view:
        visit = Visit.of(view, resources, part)
        server = await find_server(resources.store, visit.context, server_uuid)
        if server is None:
            show_not_found("tool server")
            return
        _head(visit, server)

        async def build(key: str) -> None:
            match key:
                case "tools":
                    _health(visit, server)
                case "about":
                    _about(server)
                case "edit":
                    _edit(visit, server)

        await Tabs(_TABS if visit.context.edits else _TABS[:-1], tab or None, build, keep=visit.kept).start()


async def _new_page(resources: Resources[AgentsSettings], part: str) -> None:
    with frame(title="New tool server", section="agents", crumbs=[Crumb("Agents", HOME)]) as view:
        visit = Visit.of(view, resources, part)

        async def make(form: ServerForm) -> None:
            made = await save_server(resources, visit.context, form.values())
            ui.navigate.to(item_place(visit.context, SERVER, made.mcp_server_uuid))

        ModelForm(ServerForm, make, title="New tool server", submit="Add")


def _head(visit: Visit, server: McpServer) -> None:
    async def delete() -> None:
        if await confirm(
            "Delete this tool server?",
            "Its headers are deleted too. A tool server that an agent or a prompt uses cannot be deleted.",
            verb="Delete",
        ):
            resources = visit.resources
            work = lambda: delete_server(resources.store, resources.secrets, visit.context, server.mcp_server_uuid)  # noqa: E731
            await visit.do(work, "Deleted", tab_place(visit.context, "servers"))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", server.mcp_label, dir="auto")
            with tag("p", classes="line gap-1 meta"):
                tag("span", server.mcp_server_url)
                tag("span", f"used by {server.reference_count} agents and prompts")
                ago(server.updated_at)
        if visit.context.edits:
            with tag("div", classes="deeds"):
                button("Delete", delete, icon="delete", look="small danger")


def _health(visit: Visit, server: McpServer) -> None:
    """A button that lists the tools of the server. The page itself does not wait for the server."""
    found: Any

    async def check() -> None:
        found.clear()
        with found:
            waiting = tag("p", "Listing the tools of the server", "meta", role="status")
        try:
            called = await resolve_server(visit.resources, visit.context.partition, server)
            tools = await list_tools(called, visit.resources.outgoing)
        except (McpFailed, GatelegError) as error:
            waiting.delete()
            with found:
                with tag("div"):
                    badge("No response", "failed")
                tag("p", f"{error.message} {error.fix}".strip(), "note failed", role="status")
            return
        waiting.delete()
        with found:
            with tag("div"):
                badge(f"Responds with {len(tools)} tools", "done")
            rows = [
                Row(tool.name, {"name": tool.name, "about": tool.description, "inputs": ", ".join(tool.schema.get("properties") or ())})
                for tool in tools
            ]
            Grid("Tools", _TOOLS, rows, complete=True)

    with tag("div"):
        button("Check", check, icon="network_check", look="small first")
    found = tag("div", classes="stack gap-1")


def _about(server: McpServer) -> None:
    with tag("dl", classes="facts"):
        tag("dt", "Address")
        tag("dd", server.mcp_server_url)
        tag("dt", "Headers")
        with tag("dd", classes="stack gap-1"):
            for name, reference in redact_headers(server.headers).items():
                tag("span", f"{name}: {reference}", "mono")
            if not server.headers:
                tag("span", "none")
        tag("dt", "Allowed tools")
        tag("dd", ", ".join(server.allowed_tools or ()) or "all")


def _edit(visit: Visit, server: McpServer) -> None:
    async def save(form: ServerForm) -> None:
        await save_server(visit.resources, visit.context, {**form.values(), "mcp_server_uuid": server.mcp_server_uuid})
        ui.navigate.to(item_place(visit.context, SERVER, server.mcp_server_uuid))

    ModelForm(ServerForm, save, title="Edit tool server", values=ServerForm.values_of(server))
