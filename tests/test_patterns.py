"""Our own regular expressions need time in proportion to the text, or at most to its square, whatever the text."""

import asyncio
import json
import re
import sys

import pytest

from tests.attack_strings import Expression, steep_among


async def test_no_expression_of_the_package_explodes() -> None:
    """In a process of its own: all modules are imported, and the clock interrupts what takes long."""
    judging = await asyncio.create_subprocess_exec(
        sys.executable, "-W", "ignore", "-m", "tests.attack_strings", "gateleg", stdout=asyncio.subprocess.PIPE
    )
    output, _ = await judging.communicate()
    judged = json.loads(output)
    assert judged["steep"] == {}
    assert judged["expressions"] > 300


@pytest.mark.parametrize(
    ("pattern", "steep"),
    [
        (r"(?:<!--.*?-->\s*)*<p", True),
        (r"^\s*(?:and)?\s*(?:so)?\s*([^?]*?)\s*\??\s*$", True),
        (r"\+?\d(?:[\d /().-]*\d){4,}", True),
        (r"(?:a|aa)+b", True),
        (r"[a-z]+(?:-[a-z]+)*", False),
        (r"\s+x", False),
        (rb"(?:<!--[^-]*-->\s*)*<p", False),
    ],
)
def test_attacks_are_found_by_the_expression_alone(pattern: str | bytes, steep: bool) -> None:
    assert bool(steep_among([Expression("here", pattern, re.DOTALL)])) is steep
