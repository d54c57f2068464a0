"""The generated parts of reference pages are those that the code gives today."""

from pathlib import Path

import pytest

from tests.docs.modules import DOCS, docs_module

generate = docs_module("generate")
PAGES = sorted((DOCS / "reference").glob("*.md"))


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES])
def test_what_is_checked_in_is_up_to_date(page: Path) -> None:
    assert page.read_text() == generate.fill(page.read_text(), generate.CHECKED_IN), "run `make docs`"


@pytest.mark.parametrize("name", list(generate.FRAGMENTS))
def test_every_generated_part_has_its_place_in_one_page(name: str) -> None:
    assert sum(f"<!-- generated: {name} -->" in page.read_text() for page in PAGES) == 1


def test_the_site_has_more_than_the_repository() -> None:
    (errors,) = (page.read_text() for page in PAGES if page.name == "errors.md")
    assert "### lost-race" not in errors
    assert "### lost-race" in generate.fill(errors, generate.FRAGMENTS)
