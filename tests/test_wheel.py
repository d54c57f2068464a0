"""The wheel as people install it: without extras, with the engine, and with all that `make up` runs."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateleg.endpoint import serve_in_thread
from gateleg.engine import Engine

pytestmark = [pytest.mark.wheel, pytest.mark.xdist_group("wheel")]
ROOT = Path(__file__).parent.parent
Run = Callable[..., str]

NOTES = """
from gateleg.model import Attr, Entity, Key, Table
from gateleg.store import Store

notes = Table("Notes", hash="name")


class Note(Entity, table=notes):
    name: Attr[str]
    text: Attr[str]
    key = Key("{name}")


with Store.connect(ADDRESS) as store:
    store.ensure_tables(notes)
    store.create(Note(name="a", text="hello"))
    print(store.get(Note, name="a").text)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy: an editable install beside it must not matter."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "docs", source / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, source], check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def install(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Run]:
    """Make an environment with the wheel and some extras; answers what runs programs in it."""

    def installed(extras: str) -> Run:
        folder = tmp_path_factory.mktemp("environment")
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = folder / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"{wheel}{extras}"], check=True)

        def run(*arguments: str) -> str:
            done = subprocess.run(
                [python, *arguments], capture_output=True, text=True, check=False, cwd=folder, env={"PATH": "/usr/bin:/bin"}
            )
            return (done.stdout + done.stderr).strip()

        return run

    return installed


@pytest.fixture(scope="module")
def base(install: Callable[[str], Run]) -> Run:
    return install("")


@pytest.fixture(scope="module")
def with_engine(install: Callable[[str], Run]) -> Run:
    return install("[engine]")


@pytest.fixture
def endpoint() -> Iterator[str]:
    with Engine(":memory:") as engine, serve_in_thread(engine) as url:
        yield url


def test_the_base_brings_three_packages_and_what_they_need(base: Run) -> None:
    found = {line.partition("==")[0] for line in base("-m", "pip", "freeze").splitlines()}
    assert {"apsw", "typer", "rich", "uvloop", "fastapi", "boto3"} & found == set()
    assert {"pydantic", "orjson", "httptools"} <= found


def test_the_base_speaks_to_an_endpoint(base: Run, endpoint: str) -> None:
    assert base("-c", NOTES.replace("ADDRESS", repr(endpoint))) == "hello"


@pytest.mark.parametrize(
    ("program", "package", "extra"),
    [
        ("from gateleg.store import Store; Store.connect('embedded:./data')", "apsw", "engine"),
        ("from gateleg.cli import main; main()", "typer", "cli"),
        ("import gateleg.web.app", "fastapi", "web"),
        ("from gateleg.store import Tracing; Tracing()", "opentelemetry", "tracing"),
    ],
)
def test_the_base_says_what_is_missing(base: Run, program: str, package: str, extra: str) -> None:
    assert f"{package} is not installed. Install the extra `{extra}`" in base("-c", program).rpartition("\n")[2]


def test_the_engine_is_embedded(with_engine: Run) -> None:
    assert with_engine("-c", NOTES.replace("ADDRESS", "'embedded:./data'")) == "hello"
    assert "boto3 is not installed. Install the extra `aws`" in with_engine("-c", "from gateleg.engine import boto3_session")


def test_everything_starts(install: Callable[[str], Run], tmp_path: Path) -> None:
    run = install("[all]")
    assert run("-m", "gateleg", "--version").startswith("gateleg ")
    store = f"embedded:{tmp_path}/data"
    assert "taken." in run("-m", "gateleg", "tables", "apply", "--yes", "--store", store)
    assert "DelphiJobQueue" in run("-m", "gateleg", "tables", "list", "--store", store)
    modules = "gateleg.web.app", "gateleg.web.console", "gateleg.apps.delphi.topics.umap", "xllamacpp", "boto3", "uvloop"
    program = f"import {', '.join(modules)}; print('ok')"
    assert run("-c", program).rpartition("\n")[2] == "ok"


def test_the_application_of_a_stranger_is_installed_beside_it(install: Callable[[str], Run], tmp_path: Path) -> None:
    run = install("[cli,engine,web]")
    package = tmp_path / "poems"
    shutil.copytree(ROOT / "examples" / "poems", package, ignore=shutil.ignore_patterns("__pycache__"))
    run("-m", "pip", "install", "--quiet", str(package))
    store = f"embedded:{tmp_path}/data"
    assert "poems" in run("-m", "gateleg", "--help")
    assert "poems.indent" in run("-m", "gateleg", "config")
    run("-m", "gateleg", "tables", "apply", "--yes", "--store", store)
    assert run("-m", "gateleg", "poems", "list", "--json", "--store", store).endswith("[]")
    told = run("-m", "gateleg", "doctor", "--store", store, "--objects", f"dir:{tmp_path}/objects")
    assert "ok       poems: ink: black ink" in told
