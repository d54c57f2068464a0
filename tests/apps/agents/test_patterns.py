"""Patterns of tenants: what may be saved."""

import pytest

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.patterns import LONGEST_PATTERN, check_patterns

#: 499 characters that take seconds to compile: each class is expanded for both cases.
SLOW_TO_COMPILE = "(?i)" + "[\0-\uffff]" * 99


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "*", "(" * 400])
async def test_what_is_not_a_regular_expression_is_refused(pattern: str) -> None:
    with pytest.raises(BadField, match="not a regular expression"):
        await check_patterns(["fine", pattern])


async def test_a_pattern_that_takes_long_to_compile_is_refused() -> None:
    with pytest.raises(BadField, match="takes too long"):
        await check_patterns([SLOW_TO_COMPILE])


async def test_a_pattern_that_is_too_long_is_refused() -> None:
    await check_patterns(["a" * LONGEST_PATTERN])
    with pytest.raises(BadField, match="501 characters"):
        await check_patterns(["a" * (LONGEST_PATTERN + 1)])
