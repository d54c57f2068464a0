"""What holds for every application of the suite, whatever its name."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.test_rooms import MODULES, SOURCE, borrowed

APPLICATIONS = sorted(path.parent.name for path in (SOURCE / "gateleg" / "apps").glob("*/__init__.py"))
#: What a user touches: nothing below it knows it.
SURFACES = {"api", "application", "commands", "demonstration", "pages", "web"}


def taken_by(module: str) -> set[str]:
    """All modules that a module imports, late imports included."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return found


def part_of(module: str, application: str) -> str | None:
    """The part of an application that a module belongs to: its folder, or the module itself; None for its root and for others."""
    root = f"gateleg.apps.{application}."
    return module.removeprefix(root).partition(".")[0] if module.startswith(root) else None


def parts(application: str) -> dict[str, set[str]]:
    """Each part of an application with the other parts that it takes something from."""
    found: dict[str, set[str]] = {}
    for module in MODULES:
        own = part_of(module, application)
        if own is not None:
            used = {part for name in taken_by(module) if (part := part_of(name, application)) is not None}
            found.setdefault(own, set()).update(used - {own})
    return found


@pytest.mark.parametrize("application", APPLICATIONS)
def test_the_parts_of_an_application_stand_in_layers(application: str) -> None:
    # Its folders; modules by themselves are in tests/test_rooms.py.
    folders = {path.name for path in (SOURCE / "gateleg" / "apps" / application).iterdir() if path.is_dir()}
    below = {part: used & folders for part, used in parts(application).items() if part in folders}
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        raise AssertionError(f"Parts of {application} import each other: " + " <- ".join(error.args[1])) from None


@pytest.mark.parametrize("application", APPLICATIONS)
def test_nothing_below_the_surfaces_of_an_application_knows_them(application: str) -> None:
    wrong = {f"{part} imports {used & SURFACES}" for part, used in parts(application).items() if part not in SURFACES and used & SURFACES}
    assert wrong == set()


@pytest.mark.parametrize("application", APPLICATIONS)
def test_an_application_takes_nothing_from_the_command_line(application: str) -> None:
    own = [module for module in MODULES if part_of(module, application) is not None]
    assert [f"{module} takes {name}" for module in own for name in taken_by(module) if name.startswith("gateleg.cli")] == []
    assert all(source.startswith("gateleg.") for module in own for source, _ in borrowed(module))


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_application_is_registered(application: str) -> None:
    import tomllib

    if not (SOURCE / "gateleg" / "apps" / application / "application.py").is_file():
        pytest.skip("it is not an application of a host yet")
    declared = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text())["project"]["entry-points"]["gateleg.applications"]
    assert declared[application] == f"gateleg.apps.{application}.application:application"


ROOT = Path(SOURCE).parent
NAMES = {"delphi", "mv", "agents", "rag", *APPLICATIONS}
#: Agents are also those who call tools.
ALLOWED = ("agents see", "agents may", "agents get", "of agents", "for agents")


def kit() -> list[Path]:
    """The files that must work for any application."""
    own = [path for path in (SOURCE / "gateleg").rglob("*.py") if "apps" not in path.relative_to(SOURCE / "gateleg").parts]
    return [*own, *(ROOT / "docs").glob("*.py"), ROOT / "tests" / "conftest.py", ROOT / "Makefile"]


def words_of(text: str) -> set[str]:
    for allowed in ALLOWED:
        text = text.replace(allowed, "")
    return set("".join(letter if letter.isalnum() else " " for letter in text.lower()).split())


def test_the_kit_names_no_application() -> None:
    found = {str(path.relative_to(ROOT)): words_of(path.read_text()) & NAMES for path in kit()}
    assert {path: names for path, names in found.items() if names} == {}


def test_the_linter_knows_no_application_by_name() -> None:
    contracts = (ROOT / "pyproject.toml").read_text().partition("[tool.importlinter]")[2]
    assert words_of(contracts) & NAMES == set()
