"""JSON schemas of users are read and applied within limits."""

from typing import Any

import pytest
from pydantic import ValidationError

from gateleg.apps.agents.errors import BadOutputSchema
from gateleg.apps.agents.running.structures import check_output_schemas, model_from_schema
from tests.apps.agents.test_patterns import SLOW_TO_COMPILE

WORD = {"type": "object", "properties": {"word": {"type": "string", "pattern": "^(a+)+$"}}, "required": ["word"]}


@pytest.mark.parametrize("schema", [{"type": "objekt"}, {"type": "array"}, {"properties": {"a": {"pattern": "("}}}])
async def test_what_is_not_a_schema_of_an_object_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(BadOutputSchema):
        await check_output_schemas([WORD, schema])


async def test_a_schema_that_takes_long_to_read_is_refused() -> None:
    slow = {"properties": {f"p{n}": {"pattern": SLOW_TO_COMPILE[: -5 * n]} for n in range(1, 40)}}
    with pytest.raises(BadOutputSchema, match="takes too long"):
        await check_output_schemas([slow])


async def test_a_value_is_checked_and_a_check_that_takes_for_ever_is_ended() -> None:
    model = model_from_schema(WORD)
    assert model.model_validate_json('{"word": "aaa"}').root == {"word": "aaa"}
    with pytest.raises(ValidationError, match="'b' does not match"):
        model.model_validate_json('{"word": "b"}')
    with pytest.raises(ValidationError, match="takes too long"):
        model.model_validate_json('{"word": "' + "a" * 60 + '!"}')
