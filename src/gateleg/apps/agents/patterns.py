"""Regular expressions that tenants save, in wizards and in evaluations. They are compiled and applied in a process with limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import BadField
from gateleg.processes import pattern_problems

if TYPE_CHECKING:
    from collections.abc import Sequence

#: The maximum length of a pattern in characters.
LONGEST_PATTERN = 500


async def check_patterns(patterns: Sequence[str]) -> None:
    """Refuse patterns that are too long, that are not regular expressions, or that take too long to compile."""
    for pattern in patterns:
        if len(pattern) > LONGEST_PATTERN:
            raise BadField(f"The pattern has {len(pattern)} characters; the maximum is {LONGEST_PATTERN}.", details={"field": "pattern"})
    for problem in await pattern_problems(patterns):
        if problem is not None:
            raise BadField(f"The pattern {problem}.", details={"field": "pattern"})
