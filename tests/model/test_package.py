import ast
import subprocess
import sys
from pathlib import Path
from types import FunctionType

import pytest

import gateleg.model

#: typing_extensions comes with pydantic
ALLOWED = {"gateleg", "pydantic", "pydantic_core", "typing_extensions", "orjson"} | set(sys.stdlib_module_names)


def test_the_model_imports_the_standard_library_pydantic_and_orjson_only() -> None:
    for path in Path(gateleg.model.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            assert all(name.split(".")[0] in ALLOWED for name in names), path.name


def test_the_model_loads_no_other_room() -> None:
    allowed = ("gateleg.model", "gateleg.errors", "gateleg.plain")
    code = f"import sys, gateleg.model; print([m for m in sys.modules if m.startswith('gateleg.') and not m.startswith({allowed!r})])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_all_exported_names_exist_and_are_documented() -> None:
    for name in gateleg.model.__all__:
        value = getattr(gateleg.model, name)
        assert not isinstance(value, type | FunctionType) or value.__doc__, name


@pytest.mark.parametrize("package", ["gateleg.store", "gateleg.jobs"])
def test_importing_a_package_builds_no_entity_and_loads_nothing_that_is_needed_later(package: str) -> None:
    later = ["asyncio", "email", "gateleg.engine", "gateleg.model.build", "gateleg.objects", "importlib.metadata"]
    program = f"import sys, {package}; print([name for name in {later} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
