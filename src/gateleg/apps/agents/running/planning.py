"""Choosing a tool for models that are too small to do so: the tool whose description is nearest to the question.

An agent whose configuration has `"planner": "nearest"` asks this in place of its model whether a tool is called, and which one. The local
embedding model compares the question with what each tool says about itself. A tool is called if it is near enough and needs at most one
text, which is the question; then the model answers with the result in front of it. Nothing else is decided here, and the call is stored
and streamed like one of the model's own.
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

__all__ = ["NEAREST", "PLANNED", "arguments_for", "choose_tool", "grounded"]

#: The value of `planner` in an agent's configuration.
NEAREST = "nearest"
#: What is noted at a call that was chosen here.
PLANNED = "chosen by the planner: the tool nearest to the question"
#: Cosines below this are chance: unrelated sentences of all-MiniLM-L6-v2 have about 0.0 to 0.2.
ENOUGH = 0.25


def arguments_for(schema: dict[str, Any], question: str) -> dict[str, Any] | None:
    """The arguments with which a tool can be called for a question; None for a tool that needs more than one text."""
    required = list(schema.get("required") or ())
    properties: dict[str, Any] = schema.get("properties") or {}
    if not required:
        return {}
    if len(required) > 1 or properties.get(required[0], {}).get("type") != "string":
        return None
    return {required[0]: question}


def grounded(turns: Sequence[Turn]) -> list[Turn]:
    """Turns without tool calls: what the tools answered stands with the question that they were called for.

    A small model that is shown a call writes another one in place of an answer.
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


async def choose_tool(question: str, toolbox: Toolbox, embeddings: AsyncEmbeddings, *, enough: float = ENOUGH) -> ToolCall | None:
    """The call of the tool that is nearest to a question; None if none is near enough."""
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
