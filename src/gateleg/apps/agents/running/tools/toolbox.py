"""`Toolbox`: the tools available to one run, under names that models accept."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

import orjson
from pydantic import BaseModel, ValidationError

from gateleg.ai import Tool
from gateleg.ai.errors import BadArguments
from gateleg.apps.agents.errors import McpFailed
from gateleg.apps.agents.running.tools.mcp_servers import call_tool
from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from gateleg.ai import ToolCall
    from gateleg.apps.agents.running.tools.mcp_servers import McpServer, McpTool
    from gateleg.apps.agents.running.tools.tool_lists import ToolListCache
    from gateleg.host import OfferedTool, Principal
    from gateleg.net.http import GuardedClient

__all__ = ["AvailableTool", "ToolOutput", "Toolbox", "application_tools", "build_toolbox", "mcp_tools"]

_log = logging.getLogger("gateleg.apps.agents")
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME_LENGTH = 64


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a call, as text for the model."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class AvailableTool:
    """A tool available to a run."""

    #: the stored and configured name: `delphi.find_run`, `weather.forecast`
    name: str
    description: str
    schema: dict[str, Any]
    kind: Literal["application", "mcp"]
    call: Callable[[dict[str, Any]], Awaitable[ToolOutput]] = field(repr=False)
    #: whether it is idempotent: after a crash it may be called again
    repeatable: bool = False


@dataclass(frozen=True)
class Toolbox:
    """Tools by the names that the model uses."""

    tools: Mapping[str, AvailableTool]
    #: maximum characters of a result that the model receives
    limit: int = 20_000
    #: why tools are unavailable
    problems: tuple[str, ...] = ()

    @property
    def declared(self) -> list[Tool]:
        """The tool declarations for the model."""
        return [Tool(alias, tool.description, tool.schema) for alias, tool in self.tools.items()]

    def alias(self, name: str) -> str:
        """The model's name for a tool. A tool that no longer exists still gets a valid name, for the history."""
        return next((alias for alias, tool in self.tools.items() if tool.name == name), to_tool_name(name))

    def find(self, called: str) -> AvailableTool | None:
        """Find a tool by the model's name for it, or by its own name."""
        return self.tools.get(called) or next((tool for tool in self.tools.values() if tool.name == called), None)

    async def call(self, call: ToolCall) -> ToolOutput:
        """Make a call. Errors become results that the model can read; only cancellation is raised."""
        tool = self.find(call.name)
        if tool is None:
            known = ", ".join(self.tools) or "none"
            return ToolOutput(f"There is no tool {call.name}. Tools: {known}.", failed=True)
        try:
            output = await tool.call(call.arguments)
        except BadArguments as error:
            return ToolOutput(error.message, failed=True)
        except ValidationError as error:
            return ToolOutput(_refused(error), failed=True)
        except GatelegError as error:
            return ToolOutput(error.public_text, failed=True)
        except Exception as error:
            # Log the details; the model must not see the internals of this host.
            _log.exception("tool %s failed", tool.name)
            return ToolOutput(f"The tool {tool.name} failed with {type(error).__name__}.", failed=True)
        return self._shortened(output)

    def _shortened(self, output: ToolOutput) -> ToolOutput:
        if len(output.text) <= self.limit:
            return output
        left = f"\n[{len(output.text) - self.limit:,} characters more were left out]"
        return ToolOutput(output.text[: self.limit] + left, output.failed)


def _refused(error: ValidationError) -> str:
    problems = [
        f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in error.errors(include_url=False, include_input=False)
    ]
    return "The arguments are refused: " + "; ".join(problems) + "."


def to_tool_name(name: str) -> str:
    """Convert a name to one that models accept: letters, digits, _ and -."""
    found = _INVALID_CHARACTERS.sub("_", name).strip("_")[:_MAX_NAME_LENGTH]
    return found if found and not found[0].isdigit() and found[0] != "-" else f"t_{found}"[:_MAX_NAME_LENGTH]


def build_toolbox(
    tools: Iterable[AvailableTool], *, enabled: Sequence[str] = (), limit: int = 20_000, problems: Sequence[str] = ()
) -> Toolbox:
    """Build a toolbox of the enabled tools with unique names. `enabled` lists names and patterns; empty means all."""
    found: dict[str, AvailableTool] = {}
    for tool in tools:
        if enabled and not any(matches(tool.name, pattern) for pattern in enabled):
            continue
        alias, number = to_tool_name(tool.name), 2
        while alias in found:
            alias = f"{to_tool_name(tool.name)[: _MAX_NAME_LENGTH - 4]}_{number}"
            number += 1
        found[alias] = tool
    return Toolbox(found, limit, tuple(problems))


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern matches a tool's full name, its name without the application or server, or the model's name."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[2], pattern) or to_tool_name(name) == pattern


def application_tools(offered: Iterable[OfferedTool], principal: Principal, wanted: Sequence[str]) -> list[AvailableTool]:
    """The application tools that match the patterns, called with exactly the caller's rights."""
    return [_application_tool(one, principal) for one in offered if any(matches(one.name, pattern) for pattern in wanted)]


def _application_tool(offered: OfferedTool, principal: Principal) -> AvailableTool:
    async def call(arguments: dict[str, Any]) -> ToolOutput:
        return ToolOutput(_text(await offered.call(principal, arguments)))

    return AvailableTool(offered.name, offered.tool.description, offered.tool.schema, "application", call)


async def mcp_tools(servers: Sequence[McpServer], lists: ToolListCache, outgoing: GuardedClient) -> tuple[list[AvailableTool], list[str]]:
    """The tools of MCP servers, and the problems of servers that do not answer: the agent works without those."""
    found: list[AvailableTool] = []
    problems: list[str] = []
    listed = await asyncio.gather(*(lists.tools_of(server) for server in servers), return_exceptions=True)
    for server, tools in zip(servers, listed, strict=True):
        if isinstance(tools, McpFailed):
            problems.append(tools.message)
        elif isinstance(tools, BaseException):
            raise tools
        else:
            found += [_mcp_tool(server, tool, outgoing) for tool in tools]
    return found, problems


def _mcp_tool(server: McpServer, tool: McpTool, outgoing: GuardedClient) -> AvailableTool:
    async def call(arguments: dict[str, Any]) -> ToolOutput:
        result = await call_tool(server, outgoing, tool.name, arguments)
        return ToolOutput(result.text, result.failed)

    return AvailableTool(f"{server.label}.{tool.name}", tool.description, tool.schema, "mcp", call, tool.repeatable)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
