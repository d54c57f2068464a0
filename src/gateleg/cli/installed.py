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
from gateleg.cli.settings import bad_settings_told
from gateleg.extras import MissingPackage, install_hint

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
    with bad_settings_told():
        settings.check_sections({*SUITE, *(application.name for application in found)})
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
        _log.info("%s is left out: %s is not installed. %s", name, error.name, install_hint(name))
        return None
    return application


def needs(extra: str, *modules: str) -> None:
    """End the command with what to install, when something of an extra is missing. Nothing is imported for it."""
    for module in modules:
        if find_spec(module) is None:
            fail(str(MissingPackage(module, extra)))


def named_application(place: str) -> Application:
    """The application at `module:object`."""
    from gateleg.web import Application

    found = loaded(place, "application")
    if not isinstance(found, Application):
        fail(f"{place} is not a gateleg.web.Application", MISUSED)
    return found


def loaded(place: str, otherwise: str) -> Any:
    """The object at `module:object`; without an object, the one named `otherwise`. Modules of the current directory are found."""
    module, _, name = place.partition(":")
    try:
        return getattr(import_named(module), name or otherwise)
    except AttributeError:
        fail(f"{module} has no {name or otherwise}", MISUSED)


def import_named(name: str) -> Any:
    """A module that a command line or the settings name, also of the current directory; what it raises ends the command."""
    from gateleg.model import DeclarationError

    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except DeclarationError as error:
        fail(f"{name} declares what cannot work: {error}", MISUSED)
    except ModuleNotFoundError as error:
        missing = "there is no such module" if error.name and name.startswith(error.name) else f"it needs {error.name}"
        fail(f"cannot import {name}: {missing}", MISUSED)
    except Exception as error:  # a module may raise anything while it is imported
        fail(f"cannot import {name}: {type(error).__name__}: {error}", MISUSED)
