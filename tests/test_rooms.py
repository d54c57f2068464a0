"""The structure of the house: which module imports which, and what the rooms export."""

import ast
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).parents[1] / "src"
REFERENCE = Path(__file__).parents[1] / "docs" / "reference" / "python"


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in SOURCE.rglob("*.py")}


class Imports(ast.NodeVisitor):
    """All modules that a module imports: when it is loaded, or when a function is called. What only a type checker reads does not count."""

    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) != "TYPE_CHECKING":
            self.generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        self.found |= {alias.name for alias in node.names}

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        names = {f"{node.module}.{alias.name}" for alias in node.names}
        self.found |= {name if name in MODULES else str(node.module) for name in names}


def imports_of(source: str) -> set[str]:
    imports = Imports()
    imports.visit(ast.parse(source))
    return imports.found & MODULES.keys()


def test_no_modules_import_each_other_at_run_time_not_even_in_functions() -> None:
    graph = {name: imports_of(path.read_text()) - {name} for name, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        raise AssertionError("Modules import each other: " + " <- ".join(error.args[1])) from None


def test_the_graph_sees_imports_of_functions_and_not_those_of_annotations() -> None:
    annotation = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gateleg.model.spec import Spec\n"
    function = "def read() -> object:\n    from gateleg.model.spec import Spec\n    return Spec\n"
    assert imports_of(annotation) == set()
    assert imports_of(function) == {"gateleg.model.spec"}


ROOTS = (
    "model",
    "net",
    "net.http",
    "processes",
    "store",
    "engine",
    "endpoint",
    "objects",
    "jobs",
    "ai",
    "migrate",
    "ops",
    "host",
    "commands",
    *(f"apps.{path.parent.name}" for path in (SOURCE / "gateleg" / "apps").glob("*/application.py")),
)


def test_no_name_means_two_things_in_two_roots() -> None:
    owners: dict[str, dict[int, str]] = {}
    for root in ROOTS:
        try:
            module = import_module(f"gateleg.{root}")
        except ModuleNotFoundError:
            if root.startswith("apps."):
                # Its extra is not installed here.
                continue
            raise
        for name in module.__all__:
            owners.setdefault(name, {}).setdefault(id(getattr(module, name)), root)
    assert {name: sorted(roots.values()) for name, roots in owners.items() if len(roots) > 1} == {}


def public_classes(module: ModuleType) -> dict[str, type]:
    """The classes of Gateleg that a module offers: those in its `__all__`, or all that it defines if it has none."""
    names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
    found = {name: getattr(module, name) for name in names}
    defines = hasattr(module, "__all__")
    return {
        name: one
        for name, one in found.items()
        if isinstance(one, type) and (one.__module__.startswith("gateleg.") if defines else one.__module__ == module.__name__)
    }


def test_no_two_classes_of_documented_packages_and_no_two_errors_have_one_name() -> None:
    # Large classes have pages of their own: `jobs.Queue`.
    documented = [module for page in REFERENCE.glob("*.md") if (module := f"gateleg.{page.stem}") in MODULES]
    errors = [module for module in MODULES if module.endswith(".errors") and room_of(module) != "engine"]
    owners: dict[str, set[str]] = {}
    for module in [*documented, *errors]:
        for name, one in public_classes(import_module(module)).items():
            owners.setdefault(name, set()).add(one.__module__)
    assert {name: sorted(modules) for name, modules in owners.items() if len(modules) > 1} == {}


def exported_by(module: str) -> set[str]:
    """What a module offers to other rooms: the names in its `__all__`; nothing where it has none."""
    for node in ast.parse(MODULES[module].read_text()).body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def room_of(module: str) -> str:
    """The room that a module belongs to: `jobs` for `gateleg.jobs.queue`; empty for the package itself."""
    return (*module.split("."), "")[1]


def borrowed(module: str) -> set[tuple[str, str]]:
    """The names that a module takes from other rooms, late imports included, each with the module that it takes it from."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES and room_of(node.module) not in ("", room_of(module)):
            found |= {(str(node.module), alias.name) for alias in node.names if f"{node.module}.{alias.name}" not in MODULES}
    return found


def test_a_room_takes_from_another_only_what_that_one_exports() -> None:
    # The command line puts everything together. Errors are for everybody: whoever calls a room may have to catch them.
    offers = {module: exported_by(module) for module in MODULES if not module.endswith(".errors")}
    private = {
        f"{module} takes {name} from {source}"
        for module in MODULES
        for source, name in borrowed(module)
        if room_of(module) != "cli" and source in offers and name not in offers[source]
    }
    assert sorted(private) == []
