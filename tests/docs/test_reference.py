"""The pages of the Python API: what guides import is in the reference, and so is every public name of a package with several pages."""

import ast
import re
from importlib import import_module
from pathlib import Path
from pydoc import locate
from types import ModuleType

import pytest

from tests.docs.modules import DOCS, ROOT

REFERENCE = sorted((DOCS / "reference" / "python").glob("*.md"))
GUIDES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("how-to/*.md")), *sorted(DOCS.glob("why/*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"`(gateleg(?:\.\w+)+)`")
#: `::: gateleg.model` and the options below it, which are indented.
_ENTRY = re.compile(r"^::: ([\w.]+)\n((?: .*\n|\n(?= ))*)", re.MULTILINE)


def entries(page: Path) -> list[tuple[str, bool]]:
    """What a page documents, and whether with its members."""
    return [(path, "members: false" not in options) for path, options in _ENTRY.findall(page.read_text())]


def documented() -> set[str]:
    """The full name of everything in the reference."""
    names: set[str] = set()
    for path, whole in (entry for page in REFERENCE for entry in entries(page)):
        thing = locate(path)
        names.add(path)
        if whole and isinstance(thing, ModuleType):
            names |= {f"{path}.{name}" for name in _public(thing)}
    return names


def _public(module: ModuleType) -> list[str]:
    exported: list[str] | None = getattr(module, "__all__", None)
    if exported is not None:
        return exported
    own = {name: value for name, value in vars(module).items() if name[0] != "_" and not isinstance(value, ModuleType)}
    return [name for name, value in own.items() if getattr(value, "__module__", "") in ("", module.__name__)]


def imported(page: Path) -> set[str]:
    """The full names that the examples of a page import from Gateleg."""
    statements = (node for block in _BLOCK.findall(page.read_text()) for node in ast.walk(ast.parse(block)))
    return {
        f"{node.module}.{name.name}"
        for node in statements
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] == "gateleg"
        for name in node.names
    }


def mentioned(page: Path) -> set[str]:
    """The modules of Gateleg that the text of a page names."""
    return {name for name in _NAMED.findall(page.read_text()) if isinstance(locate(name), ModuleType)}


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in REFERENCE])
def test_a_page_documents_what_exists(page: Path) -> None:
    assert entries(page) != []
    assert [path for path, _ in entries(page) if locate(path) is None] == []


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in GUIDES])
def test_what_a_guide_imports_is_in_the_reference(page: Path) -> None:
    assert sorted(imported(page) - documented()) == []


@pytest.mark.parametrize("page", [pytest.param(page, id=str(page.relative_to(ROOT))) for page in GUIDES])
def test_a_module_that_a_guide_names_is_in_the_reference(page: Path) -> None:
    modules = documented() | {name.rpartition(".")[0] for name in documented()}
    assert sorted(mentioned(page) - modules) == []


def test_a_module_that_is_divided_is_documented_whole() -> None:
    divided = {path for page in REFERENCE for path, whole in entries(page) if not whole}
    assert divided
    names = {f"{path}.{name}" for path in divided for name in _public(import_module(path))}
    assert sorted(names - documented()) == []
