"""The reference of the Python API shows methods that the code makes from functions, and leaves out what no user calls."""

import inspect
from typing import Any

import griffe
import pytest

from gateleg.jobs import AsyncQueue, Queue
from gateleg.store import AsyncStore, Store
from tests.docs.modules import ROOT, docs_module


@pytest.fixture(scope="module")
def package() -> Any:
    extensions = griffe.load_extensions("griffe_sphinx", docs_module("griffe_extension").Gateleg)
    return griffe.load("gateleg", search_paths=[ROOT / "src"], extensions=extensions)


@pytest.mark.parametrize("kind", [Store, AsyncStore, Queue, AsyncQueue])
def test_every_method_has_its_parameters_and_documentation(package: Any, kind: type) -> None:
    shown = package[f"{kind.__module__.removeprefix('gateleg.')}.{kind.__name__}"]
    methods = {name: value for name, value in vars(kind).items() if inspect.isfunction(value) and name[0] != "_"}
    assert len(methods) > 20
    for name, method in methods.items():
        parameters = list(inspect.signature(method).parameters)
        assert [parameter.name for parameter in shown.members[name].parameters] == parameters, name
        assert shown.members[name].docstring.value.strip() == inspect.getdoc(method), name


def test_an_awaited_method_says_so(package: Any) -> None:
    assert str(package["jobs.queue.Queue.submit"].returns) == "Submitted"
    assert str(package["jobs.queue.AsyncQueue.submit"].returns) == "Awaitable[Submitted]"


def test_a_comment_over_a_field_is_its_documentation(package: Any) -> None:
    job = package["jobs.tables.job.Job"]
    assert job.members["attempts"].docstring.value == "the last ended attempts, oldest first"
    assert "cancel_reason" in job.members


def test_special_methods_and_attributes_without_documentation_are_left_out(package: Any) -> None:
    assert not {"__enter__", "__exit__", "setup", "transport"} & set(package["store.store.Store"].members)


def test_code_in_the_docstring_of_a_module_is_in_a_fence(package: Any) -> None:
    assert '\n\n```python\njobs = Table("JobQueue"' in package["model"].docstring.value


def test_an_error_begins_with_its_code(package: Any) -> None:
    error = package["store.errors.LostRace"]
    assert error.docstring.value.startswith("Error code [`lost-race`][lost-race].")
    assert not {"code", "fix", "why", "status"} & {name for name, member in error.all_members.items() if member.is_public}


def test_a_block_that_is_not_python_is_text(package: Any) -> None:
    assert "\n\n```text\n" in package["store"].docstring.value
