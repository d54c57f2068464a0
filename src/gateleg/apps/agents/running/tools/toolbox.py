"""`Toolbox`: the tools that one run may use, under names that models accept, and calling them."""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

import orjson
from pydantic import BaseModel, ValidationError

from gateleg.ai import BadArguments, Tool
from gateleg.apps.agents.errors import McpFailed
from gateleg.apps.agents.running.tools.mcp_servers import call_tool
from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

    from gateleg.ai import ToolCall
    from gateleg.apps.agents.running.tools.mcp_servers import McpServer, McpTool
    from gateleg.apps.agents.running.tools.tool_lists import ToolLists
    from gateleg.net.http import GuardedClient
    from gateleg.web import OfferedTool, Principal

__all__ = ["AvailableTool", "ToolOutput", "Toolbox", "application_tools", "mcp_tools", "put_together"]

_log = logging.getLogger("gateleg.apps.agents")
_UNFIT = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST = 64


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What came of a call, as the model reads it."""

    text: str
    failed: bool = False


@dataclass(frozen=True, slots=True)
class AvailableTool:
    """A tool that a run may use."""

    #: as it is stored and configured: `delphi.find_run`, `weather.forecast`
    name: str
    description: str
    schema: dict[str, Any]
    kind: Literal["application", "mcp"]
    call: Callable[[dict[str, Any]], Awaitable[ToolOutput]] = field(repr=False)
    #: whether it may be called again after a crash, when nobody knows whether it took effect
    repeatable: bool = False


@dataclass(frozen=True)
class Toolbox:
    """Tools by the names that the model knows them by."""

    tools: Mapping[str, AvailableTool]
    #: characters of a result that the model is shown
    limit: int = 20_000
    #: what could not be offered, and why
    problems: tuple[str, ...] = ()

    @property
    def declared(self) -> list[Tool]:
        """The tools as the model is told of them."""
        return [Tool(alias, tool.description, tool.schema) for alias, tool in self.tools.items()]

    def alias(self, name: str) -> str:
        """The name by which the model knows a tool; one that is no longer there keeps a name that a model accepts."""
        return next((alias for alias, tool in self.tools.items() if tool.name == name), fitting(name))

    def find(self, called: str) -> AvailableTool | None:
        """The tool that a model has called, by the name it knows or by its own."""
        return self.tools.get(called) or next((tool for tool in self.tools.values() if tool.name == called), None)

    async def call(self, call: ToolCall) -> ToolOutput:
        """Make a call. Whatever goes wrong with it is a result that the model can read; nothing is raised but cancellation."""
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
            # A fault of the tool: the log has it whole, and the model need not know what is inside of this host.
            _log.exception("The tool %s failed.", tool.name)
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


def fitting(name: str) -> str:
    """A name that models accept: letters, digits, _ and -."""
    found = _UNFIT.sub("_", name).strip("_")[:_LONGEST]
    return found if found and not found[0].isdigit() and found[0] != "-" else f"t_{found}"[:_LONGEST]


def put_together(
    tools: Iterable[AvailableTool], *, enabled: Sequence[str] = (), limit: int = 20_000, problems: Sequence[str] = ()
) -> Toolbox:
    """A toolbox of the tools that are enabled, each under a name of its own. `enabled` has names and patterns; empty: all."""
    found: dict[str, AvailableTool] = {}
    for tool in tools:
        if enabled and not any(matches(tool.name, pattern) for pattern in enabled):
            continue
        alias, number = fitting(tool.name), 2
        while alias in found:
            alias = f"{fitting(tool.name)[: _LONGEST - 4]}_{number}"
            number += 1
        found[alias] = tool
    return Toolbox(found, limit, tuple(problems))


def matches(name: str, pattern: str) -> bool:
    """Whether a pattern names a tool: by its whole name, by that without its application or server, or as the model knows it."""
    return fnmatchcase(name, pattern) or fnmatchcase(name.partition(".")[2], pattern) or fitting(name) == pattern


def application_tools(offered: Iterable[OfferedTool], principal: Principal, wanted: Sequence[str]) -> list[AvailableTool]:
    """The tools of applications that an agent wants, called on behalf of somebody with exactly their rights."""
    return [_application_tool(one, principal) for one in offered if any(matches(one.name, pattern) for pattern in wanted)]


def _application_tool(offered: OfferedTool, principal: Principal) -> AvailableTool:
    async def call(arguments: dict[str, Any]) -> ToolOutput:
        return ToolOutput(_text(await offered.call(principal, arguments)))

    return AvailableTool(offered.name, offered.tool.description, offered.tool.schema, "application", call)


async def mcp_tools(servers: Sequence[McpServer], lists: ToolLists, outgoing: GuardedClient) -> tuple[list[AvailableTool], list[str]]:
    """The tools of MCP servers, and what is wrong with those that do not answer: an agent works without them."""
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
