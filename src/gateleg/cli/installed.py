"""The applications of a host: those of the suite that are installed, and those that the settings name."""

from __future__ import annotations

import importlib
import logging
import os
import sys
from importlib import resources
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from gateleg.cli.failures import MISUSED, fail

if TYPE_CHECKING:
    from gateleg.web import Application
    from gateleg.web.settings import Settings

#: The suite, in the order of the navigation. Each is a package whose module `application` has an object of that name.
SUITE = ("delphi", "mv", "agents", "rag")
_log = logging.getLogger("gateleg.cli")


def installed_applications(settings: Settings, *, demo: bool = False) -> list[Application]:
    """All applications that a host of these settings has."""
    found = [application for name in SUITE if (application := _of_suite(name)) is not None]
    found += [named_application(place) for place in settings.applications]
    if demo:
        from gateleg.cli.demo.application import application as demonstration

        found.append(demonstration)
    return found


def _of_suite(name: str) -> Application | None:
    """An application of the suite; None when it, or what it needs, is not installed."""
    if not resources.files("gateleg.apps").joinpath(name, "application.py").is_file():
        return None
    try:
        application: Application = importlib.import_module(f"gateleg.apps.{name}.application").application
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("gateleg"):
            raise
        _log.info("%s is skipped: %s is not installed (pip install 'gateleg[%s]')", name, error.name, name)
        return None
    return application


def needs(extra: str, *modules: str) -> None:
    """End the command with what to install, when something of an extra is missing. Nothing is imported for it."""
    for module in modules:
        if find_spec(module) is None:
            fail(f"{module} is not installed: run `pip install 'gateleg[{extra}]'`")


def named_application(place: str) -> Application:
    """The application at `module:object`."""
    from gateleg.web import Application

    found = loaded(place, "application")
    if not isinstance(found, Application):
        fail(f"{place} is no gateleg.web.Application", MISUSED)
    return found


def loaded(place: str, otherwise: str) -> Any:
    """What is at `module:object`, also of a module in the working folder; without an object, what has the name `otherwise`."""
    module, _, name = place.partition(":")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return getattr(importlib.import_module(module), name or otherwise)
    except ModuleNotFoundError as error:
        fail(f"cannot import {module}: there is no module {error.name}", MISUSED)
    except AttributeError:
        fail(f"{module} has no {name or otherwise}", MISUSED)
