"""The planner: chooses a tool by embedding similarity, for models too small to choose one themselves.

For an agent with `"planner": "nearest"` in its configuration the planner decides, in place of the model, whether to call a tool and which.
The local embedding model compares the question with each tool's description. The most similar tool is called if it is similar enough and
takes at most one text, which is the question; the model then answers from the result. The call is stored and streamed like any other.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson

from gateleg.ai import ToolCall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.ai import AsyncEmbeddings
    from gateleg.apps.agents.running.history import Turn
    from gateleg.apps.agents.running.tools.toolbox import Toolbox

__all__ = ["NEAREST", "PLANNER_NOTE", "arguments_for", "choose_tool", "inline_tool_results"]

#: The value of `planner` in an agent's configuration.
NEAREST = "nearest"
#: The note stored with a planned call.
PLANNER_NOTE = "chosen by the planner: the tool nearest to the question"
#: Minimum cosine similarity. Unrelated sentences score about 0.0 to 0.2 with all-MiniLM-L6-v2.
MIN_SIMILARITY = 0.25


def arguments_for(schema: dict[str, Any], question: str) -> dict[str, Any] | None:
    """The arguments to call a tool with for a question; None if the tool needs more than one text."""
    required = list(schema.get("required") or ())
    properties: dict[str, Any] = schema.get("properties") or {}
    if not required:
        return {}
    if len(required) > 1 or properties.get(required[0], {}).get("type") != "string":
        return None
    return {required[0]: question}


def inline_tool_results(turns: Sequence[Turn]) -> list[Turn]:
    """Move tool results into the question that they were called for, and drop the calls.

    A small model that sees a tool call in its prompt imitates it instead of answering.
    """
    found: list[Turn] = []
    for turn in turns:
        facts = "\n".join(call.result for call in turn.calls if call.result and not call.failed)
        asked = next((place for place in reversed(range(len(found))) if found[place].role == "user"), None)
        if facts and asked is not None:
            found[asked] = replace(found[asked], text=f"{facts}\n\n{found[asked].text}")
        if turn.text or not turn.calls:
            found.append(replace(turn, calls=()))
    return found


async def choose_tool(question: str, toolbox: Toolbox, embeddings: AsyncEmbeddings, *, enough: float = MIN_SIMILARITY) -> ToolCall | None:
    """A call of the tool most similar to the question; None if none is similar enough."""
    usable = {alias: arguments for alias, tool in toolbox.tools.items() if (arguments := arguments_for(tool.schema, question)) is not None}
    if not usable:
        return None
    texts = [f"{alias.replace('_', ' ')}: {toolbox.tools[alias].description}" for alias in usable]
    (asked,) = await embeddings.embed([question], purpose="query")
    scores = (await embeddings.embed(texts)) @ asked
    best = int(scores.argmax())
    alias = list(usable)[best]
    if float(scores[best]) < enough:
        return None
    return ToolCall("call_planned", alias, orjson.dumps(usable[alias]).decode())
