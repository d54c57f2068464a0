"""The generated pages are those that the code gives today."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


def _generator() -> Any:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", list(_generator().GENERATED))
def test_page_is_up_to_date(name: str) -> None:
    assert (DOCS / "reference" / name).read_text() == _generator().GENERATED[name](), "run `make docs`"
