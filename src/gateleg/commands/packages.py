"""Check for optional packages that a command needs."""

from __future__ import annotations

from importlib.util import find_spec

from gateleg.commands.failures import fail
from gateleg.extras import MissingPackage

__all__ = ["require_packages"]


def require_packages(extra: str, *modules: str) -> None:
    """End the command with an installation hint if a module of an extra is missing. Nothing is imported."""
    for module in modules:
        if find_spec(module) is None:
            fail(str(MissingPackage(module, extra)))
