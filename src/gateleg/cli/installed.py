"""The applications of a host: those that installed packages register as entry points, and those named in the settings.

A package registers its applications in the group `gateleg.applications`, each as `name = "module:object"`; so does Gateleg itself.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gateleg.commands.opening import explaining_bad_settings, settings_from
from gateleg.commands.printing import MISUSED, fail
from gateleg.extras import MissingPackage

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from pathlib import Path

    from gateleg.host import Application
    from gateleg.host.settings import Settings

GROUP = "gateleg.applications"
_OWN = "gateleg"
_log = logging.getLogger("gateleg.cli")


@dataclass(frozen=True)
class LeftOut:
    """A registered application that cannot be used, and why."""

    name: str
    reason: str
    #: whether it only misses an optional package
    is_optional: bool = False


@dataclass(frozen=True)
class Installed:
    """The applications that were found, and those that are left out."""

    applications: list[Application] = field(default_factory=list)
    left_out: list[LeftOut] = field(default_factory=list)


def registered() -> dict[str, EntryPoint]:
    """The entry points of applications by name: Gateleg's own, then those of other packages. Nothing is imported.

    If two have the same name, the first is kept; `find_installed` reports the other.
    """
    found: dict[str, EntryPoint] = {}
    for entry in _entries():
        found.setdefault(entry.name, entry)
    return found


def _entries() -> list[EntryPoint]:
    # A package that is on the path twice, as in a checkout, has its entries twice.
    found = {(entry.name, entry.value): entry for entry in entry_points(group=GROUP)}
    return sorted(found.values(), key=lambda entry: (package_of(entry) != _OWN, entry.name, entry.value))


def package_of(entry: EntryPoint) -> str:
    """The name of the package that registers an entry point."""
    return entry.dist.name if entry.dist is not None else ""


def find_installed(settings: Settings, *, demo: bool = False) -> Installed:
    """All applications of a host with these settings. A broken registered one is left out; a broken named one ends the command."""
    installed = Installed()
    kept = registered()
    for entry in _entries():
        found: Application | LeftOut
        if kept[entry.name].value != entry.value:
            found = LeftOut(entry.name, f"{entry.value} of {package_of(entry)} has the name of {kept[entry.name].value}")
        else:
            found = load_application(entry)
        _add(installed, found)
    for place in settings.applications:
        _add_named(installed, place)
    if demo:
        from gateleg.cli.demo.application import application as demonstration

        installed.applications.append(demonstration)
    with explaining_bad_settings():
        settings.check_sections({*kept, *(application.name for application in installed.applications)})
    return installed


def settings_of_tables(config: Path | None, **flags: Any) -> Settings:
    """The settings of a command that works on tables: `settings_from`, with the names that variables give to tables of applications."""
    settings = settings_from(config, **flags)
    with explaining_bad_settings():
        return settings.naming_tables(find_installed(settings).applications)


def _add(installed: Installed, found: Application | LeftOut) -> None:
    from gateleg.host.application import BadApplication, check_applications

    if isinstance(found, LeftOut):
        installed.left_out.append(found)
        return
    try:
        check_applications([*installed.applications, found])
    except BadApplication as error:
        installed.left_out.append(LeftOut(found.name, str(error)))
    else:
        installed.applications.append(found)


def _add_named(installed: Installed, place: str) -> None:
    """Add the application at `module:object` of the settings, once; another one of the same name ends the command."""
    found = named_application(place)
    named = {application.name: application for application in installed.applications}
    if found.name not in named:
        installed.applications.append(found)
    elif named[found.name] is not found:
        entry = registered().get(found.name)
        other = "the settings name two" if entry is None else f"{entry.value} of {package_of(entry)} is installed"
        fail(
            f"{place} in `applications` of the settings is the application {found.name!r}, as is another: {other}. "
            "Rename one of them, or remove it from the settings",
            MISUSED,
        )


def installed_applications(settings: Settings, *, demo: bool = False) -> list[Application]:
    """All applications of a host with these settings. Those that are left out are logged."""
    installed = find_installed(settings, demo=demo)
    own = {name for name, entry in registered().items() if package_of(entry) == _OWN}
    absent = sorted(one.name for one in installed.left_out if one.is_optional and one.name in own)
    if absent:
        _log.info("Applications of Gateleg that are not installed: %s. Each needs the extra of the same name.", ", ".join(absent))
    for one in installed.left_out:
        if one.name not in absent:
            _log.log(logging.INFO if one.is_optional else logging.ERROR, "application %s is not available: %s", one.name, one.reason)
    return installed.applications


def load_application(entry: EntryPoint) -> Application | LeftOut:
    """The application of an entry point, or why it cannot be used. No exception of its module is raised."""
    from gateleg.host import Application

    try:
        found = entry.load()
    except ModuleNotFoundError as error:
        return LeftOut(entry.name, reason_for(entry, error), is_optional=_is_of_others(entry, error))
    except Exception as error:  # a module may raise anything while it is imported
        return LeftOut(entry.name, f"{entry.value} of {package_of(entry)} cannot be loaded: {type(error).__name__}: {error}")
    if not isinstance(found, Application):
        return LeftOut(entry.name, f"{entry.value} of {package_of(entry)} is not a gateleg.host.Application")
    if found.name != entry.name:
        return LeftOut(entry.name, f"{entry.value} of {package_of(entry)} is the application {found.name!r}, not {entry.name!r}")
    return found


def reason_for(entry: EntryPoint, error: ModuleNotFoundError) -> str:
    """Why an application is left out if a module is missing; names the extra, if one of Gateleg has the application's name."""
    extras = [] if entry.dist is None else entry.dist.metadata.get_all("Provides-Extra") or []
    if package_of(entry) == _OWN and entry.name in extras and _is_of_others(entry, error):
        return str(MissingPackage(error.name or "", entry.name))
    return f"{entry.value} of {package_of(entry)} needs {error.name}, which is not installed"


def _is_of_others(entry: EntryPoint, error: ModuleNotFoundError) -> bool:
    """Whether the missing module is not the package's own."""
    return error.name is not None and error.name.partition(".")[0] not in (_OWN, entry.module.partition(".")[0])


def own_applications() -> dict[str, Application]:
    """The installed applications of Gateleg itself, by name: those that its reference documents."""
    own = {name: load_application(entry) for name, entry in registered().items() if package_of(entry) == _OWN}
    return {name: application for name, application in own.items() if not isinstance(application, LeftOut)}


def application_errors() -> dict[str, ModuleType]:
    """The module `errors` beside each application of Gateleg that has one, by the application's title."""
    entries = registered()
    places = {one.title: f"{entries[name].module.rpartition('.')[0]}.errors" for name, one in own_applications().items()}
    return {title: importlib.import_module(place) for title, place in places.items() if find_spec(place) is not None}


def load_commands(name: str) -> tuple[Application, Any]:
    """An installed application and its commands, as a Typer object if it has any but those of its actions; errors end the command."""
    application = load_application(registered()[name])
    if isinstance(application, LeftOut):
        fail(application.reason)
    if application.commands is None and not application.actions:
        fail(f"the application {name} has no commands", MISUSED)
    return application, None if application.commands is None else loaded(application.commands, "app")


def named_application(place: str) -> Application:
    """The application at `module:object`."""
    from gateleg.host import Application

    found = loaded(place, "application")
    if isinstance(found, ModuleType):
        fail(f"{place} names the module {found.__name__}, not a gateleg.host.Application. Write {found.__name__}:application.", MISUSED)
    if not isinstance(found, Application):
        fail(f"{place} is not a gateleg.host.Application", MISUSED)
    return found


def loaded(place: str, otherwise: str) -> Any:
    """The object at `module:object`; without an object, the one named `otherwise`. Searches as `import_named`."""
    from gateleg.model.types import did_you_mean

    module, _, name = place.partition(":")
    found = import_named(module)
    try:
        return getattr(found, name or otherwise)
    except AttributeError:
        own = {one: value for one, value in vars(found).items() if not one.startswith("_")}
        wanted = tuple(kind for kind in (_class("gateleg.web", "Application"), _class("gateleg.jobs", "Jobs")) if kind is not None)
        # Suggest only applications and registries, if the module has any, and not names that it imports.
        known = [one for one, value in own.items() if isinstance(value, wanted)] or list(own)
        suggestion = did_you_mean(name or otherwise, known, otherwise="Use module:object.")
        fail(f"{module} has no attribute {name or otherwise!r}. {suggestion}", MISUSED)


def _class(module: str, name: str) -> type | None:
    """A class, if its module is loaded; only then can there be an instance."""
    return getattr(sys.modules[module], name, None) if module in sys.modules else None


def import_named(name: str) -> Any:
    """Import a module that a command line or the settings name, also from the current directory or its folder `src`, where projects of
    `gateleg new` keep theirs; errors end the command.
    """
    from gateleg.model import DeclarationError

    here = os.getcwd()
    sys.path[:0] = [folder for folder in (here, os.path.join(here, "src")) if folder not in sys.path and os.path.isdir(folder)]
    try:
        return importlib.import_module(name)
    except DeclarationError as error:
        fail(f"{name} has an invalid declaration: {error}", MISUSED)
    except ModuleNotFoundError as error:
        if name.endswith(".py") or "/" in name:
            written = name.removesuffix(".py").strip("./").replace("/", ".")
            fail(f"cannot import {name}: it is a file; write the module, as in {written}", MISUSED)
        if not error.name or not name.startswith(error.name):
            fail(f"cannot import {name}: it needs {error.name}", MISUSED)
        fail(f"cannot import {name}: no such module, neither installed nor in {here} or its folder src", MISUSED)
    except Exception as error:  # a module may raise anything while it is imported
        fail(f"cannot import {name}: {type(error).__name__}: {error}", MISUSED)
