"""Structured output: the prompt, parsing the answer, and the follow-up when validation fails. Pure."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from gateleg.ai.chat_requests import AnswerSchema
from gateleg.ai.messages import Assistant, Message, System, User

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.ai.replies import Reply

M = TypeVar("M", bound=BaseModel)
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_PROBLEMS = 10


class StructureMismatch(Exception):
    """A reply does not match the schema. `problems` describes why, in words for the model."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def shape_of(model: type[BaseModel]) -> AnswerSchema:
    """The shape that a pydantic model describes."""
    return AnswerSchema(_NAME.sub("_", model.__name__)[:64], model.model_json_schema())


def with_schema_instructions(messages: Iterable[Message], shape: AnswerSchema) -> tuple[Message, ...]:
    """Prepend the schema as a system message, also for providers that enforce it: its descriptions explain the fields."""
    words = (
        "Answer with one JSON object and nothing else: no explanation, no code fence. "
        f"It must satisfy this JSON schema:\n{orjson.dumps(shape.schema).decode()}"
    )
    return (System(words), *messages)


def read_structure(model: type[M], text: str) -> M:
    """Parse and validate the JSON object in a reply. Raises `StructureMismatch`."""
    found = _object_in(text)
    if found is None:
        raise StructureMismatch(["The answer is not a JSON object."])
    try:
        return model.model_validate_json(found)
    except ValidationError as error:
        problems = [
            f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False, include_context=False)
        ]
        raise StructureMismatch(problems) from None


def with_correction(messages: tuple[Message, ...], reply: Reply, problems: list[str]) -> tuple[Message, ...]:
    """Append the invalid reply and a request to correct its problems."""
    problem_list = "\n".join(f"- {problem}" for problem in problems[:_MAX_PROBLEMS])
    rejected = Assistant(reply.text or "(no text)")
    return (
        *messages,
        rejected,
        User(f"That answer is refused:\n{problem_list}\nAnswer again with the whole corrected JSON object and nothing else."),
    )


def _object_in(text: str) -> str | None:
    """The first JSON object in a text: models often add prose around it, or a code fence."""
    fenced = _FENCE.search(text)
    for candidate in ([fenced.group(1)] if fenced else []) + [text]:
        start = candidate.find("{")
        while start >= 0:
            try:
                _, end = json.JSONDecoder(strict=False).raw_decode(candidate, start)
            except (ValueError, RecursionError):
                start = candidate.find("{", start + 1)
                continue
            return candidate[start:end]
    return None
