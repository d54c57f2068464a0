"""The config of a job on a command line."""

from __future__ import annotations

import json
import sys
from typing import Any

from gateleg.commands.failures import MISUSED, fail

__all__ = ["read_config"]


def read_config(text: str) -> dict[str, Any]:
    """Parse a config from JSON text, or from standard input for `-`. Invalid JSON ends the command."""
    try:
        found = json.loads(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        fail(f"the config is not JSON: {error}", MISUSED)
    if not isinstance(found, dict):
        fail("the config must be a JSON object", MISUSED)
    return found
