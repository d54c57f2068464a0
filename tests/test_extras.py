"""What is said where a package of an extra is not installed, and that Gateleg itself does without."""

import pickle
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from gateleg.extras import EXTRA_OF, MissingPackage, check_installed, explained

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]


def without(packages: tuple[str, ...], program: str) -> str:
    """What a program raises or prints in a process in which packages cannot be imported."""
    hidden = "".join(f"sys.modules[{name!r}] = None; " for name in packages)
    done = subprocess.run([sys.executable, "-c", f"import sys; {hidden}\n{program}"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().rpartition("\n")[2]


@pytest.mark.parametrize(
    ("package", "program"),
    [
        ("apsw", "from gateleg.store import Store; Store.connect('embedded::memory:')"),
        ("apsw", "from gateleg.engine import Engine"),
        ("boto3", "from gateleg.engine import boto3_session"),
        ("fastapi", "from gateleg.web.app import create_app"),
        ("fastapi", "from gateleg.web.access import Member"),
        ("fastapi", "from gateleg.web.api.pages import Listing"),
        ("starlette", "from gateleg.web.bodies import body_limit"),
        ("python_multipart", "from gateleg.web.uploads import receive_files"),
        ("nicegui", "from gateleg.web.console.components import frame"),
        ("botocore", "from gateleg.store.transports.botocore import BotocoreTransport"),
        ("opentelemetry", "from gateleg.store import Tracing; Tracing()"),
        ("typer", "from gateleg.cli import main; main()"),
    ],
)
def test_a_missing_package_is_named_with_its_extra_and_how_to_install_it(package: str, program: str) -> None:
    told = without((package,), program)
    assert f"{package} is not installed. Install the extra `{EXTRA_OF[package]}`: `pip install '.[{EXTRA_OF[package]}]'`" in told


def test_model_and_store_need_no_extra() -> None:
    program = "import gateleg.model, gateleg.store, gateleg.jobs, gateleg.objects, gateleg.store.transports.http; print('ok')"
    assert without(tuple(EXTRA_OF), program) == "ok"


def test_the_package_itself_imports_nothing() -> None:
    program = "before = set(sys.modules); import gateleg; print(sorted(set(sys.modules) - before))"
    assert without((), program) == "['gateleg']"


def test_a_command_says_so_in_one_line() -> None:
    told = without(
        ("apsw",), "sys.argv = ['gateleg', 'tables', 'apply', '--store', 'embedded::memory:']; from gateleg.cli import main; main()"
    )
    assert told.startswith("gateleg: apsw is not installed.")


def test_every_extra_that_is_named_exists() -> None:
    assert set(EXTRA_OF.values()) <= set(PROJECT["optional-dependencies"])


def test_an_error_about_another_module_stays_what_it_is() -> None:
    error = ModuleNotFoundError("No module named 'shop'", name="shop")
    assert explained(error) is error


def test_the_error_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(MissingPackage("apsw", "engine")))
    assert (str(error), error.name, error.extra) == (str(MissingPackage("apsw", "engine")), "apsw", "engine")


def test_the_first_package_that_is_not_installed_is_named() -> None:
    check_installed(["pydantic", "orjson"])
    with pytest.raises(ModuleNotFoundError) as found:
        check_installed(["orjson", "no_such_package", "nor_this"])
    assert found.value.name == "no_such_package"
