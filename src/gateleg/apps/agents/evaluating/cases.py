"""Questions with checks, and the checks that need no model. Pure."""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field
from pydantic.alias_generators import to_camel

__all__ = ["Case", "Check", "Contains", "Equals", "Judged", "Matches", "contains", "equals"]

_CAMEL = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Contains(BaseModel):
    """The answer contains a text, ignoring case."""

    model_config = _CAMEL

    kind: Literal["contains"] = "contains"
    text: str = Field(min_length=1, max_length=1_000)


class Matches(BaseModel):
    """A regular expression matches somewhere in the answer."""

    model_config = _CAMEL

    kind: Literal["matches"] = "matches"
    pattern: str = Field(min_length=1, max_length=500)


class Equals(BaseModel):
    """The answer, parsed as JSON, equals this value. Numbers are compared by value, and the order of members is ignored."""

    model_config = _CAMEL

    kind: Literal["equals"] = "equals"
    value: Any


class Judged(BaseModel):
    """A model judges whether the answer meets a criterion."""

    model_config = _CAMEL

    kind: Literal["judged"] = "judged"
    criterion: str = Field(min_length=1, max_length=2_000)


Check = Annotated[Contains | Matches | Equals | Judged, Discriminator("kind")]


class Case(BaseModel):
    """A question and the checks of its answer."""

    model_config = _CAMEL

    question: str = Field(min_length=1, max_length=10_000)
    checks: list[Check] = Field(min_length=1, max_length=10)
    #: the JSON schema of the answer
    output_schema: dict[str, Any] | None = None


def contains(check: Contains, answer: str) -> bool:
    """Whether an answer contains a text."""
    return check.text.casefold() in answer.casefold()


def equals(check: Equals, answer: str, output: dict[str, Any] | None) -> bool:
    """Whether an answer equals a value: the structured answer of the run, or its text parsed as JSON."""
    if output is None:
        try:
            found: Any = json.loads(answer)
        except ValueError:
            return False
    else:
        found = output
    return bool(_plain(found) == _plain(check.value))


def _plain(value: Any) -> Any:
    """A value with JSON types: stored values have decimals instead of floats."""
    return json.loads(json.dumps(value, default=float))
