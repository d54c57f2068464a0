"""Questions with checks, and the checks that need no model. Pure."""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field
from pydantic.alias_generators import to_camel

from gateleg.apps.agents.errors import BadField

__all__ = ["Case", "Check", "Contains", "Equals", "Judged", "Matches", "answer_bytes", "check_size", "contains", "equals", "excerpt"]

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


#: The maximum number of characters of an answer, and of a reason, in an evaluation; the run has the whole answer.
SHOWN_ANSWER, SHOWN_REASON = 1_500, 500
#: The maximum size of an evaluation in bytes: an item may have 400 KB. Less than the first is too little of an answer to be useful.
_LEAST_ANSWER, _MOST_BYTES = 200, 350_000
#: Bytes of the other attributes of one version's result, and of the evaluation.
_AROUND_RESULT, _AROUND_ALL = 400, 5_000


def answer_bytes(cases: Sequence[Mapping[str, Any]], versions: int) -> int:
    """The bytes that an evaluation has for each answer, after its questions, its checks and their reasons. May be negative."""
    # Questions are stored with the cases, and once more with the results.
    texts = [json.dumps(case, default=str, ensure_ascii=False) + str(case.get("question", "")) for case in cases]
    fixed = sum(len(text.encode()) for text in texts) + _AROUND_ALL
    reasons = sum(len(case.get("checks", ())) for case in cases) * (SHOWN_REASON + _AROUND_RESULT // 4)
    results = max(1, len(cases) * versions)
    return (_MOST_BYTES - fixed - versions * reasons) // results - _AROUND_RESULT


def check_size(cases: Sequence[Mapping[str, Any]], versions: int) -> None:
    """Raise `BadField` for an evaluation whose results could not be stored, before its answers are paid for."""
    if answer_bytes(cases, versions) < _LEAST_ANSWER:
        raise BadField(
            f"The results of {len(cases)} questions with {versions} {'version' if versions == 1 else 'versions'} would be too large.",
            fix="Split the set, shorten its questions, or evaluate one version at a time.",
        )


def excerpt(text: str, size: int, most: int = SHOWN_ANSWER) -> str:
    """The beginning of a text, of at most this many bytes and characters."""
    return text[:most].encode()[: max(0, size)].decode("utf-8", "ignore")


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
