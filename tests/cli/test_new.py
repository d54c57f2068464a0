import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from gateleg.cli.commands import app
from gateleg.cli.installed import find_installed
from gateleg.host.settings import Settings
from tests.cli.strangers import install


def make(folder: Path, name: str = "my-notes") -> Path:
    told = CliRunner().invoke(app, ["new", name, "--in", str(folder / name)])
    assert told.exit_code == 0, told.output
    return folder / name


def run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_new_application_passes_its_own_tests(tmp_path: Path) -> None:
    assert "3 passed" in run(make(tmp_path), "pytest", "-q", "-p", "no:cacheprovider")


@pytest.mark.slow
def test_a_new_application_is_clean_of_faults_of_types_and_style(tmp_path: Path) -> None:
    folder = make(tmp_path)
    assert "Success" in run(folder, "mypy", "--cache-dir", str(Path.cwd() / ".mypy_cache"))
    run(folder, "ruff", "check", "--isolated", "--line-length", "140", "--select", "E,F,W,UP,B,SIM", ".")
    run(folder, "ruff", "format", "--isolated", "--line-length", "140", "--check", ".")


def test_a_new_application_is_found_by_its_entry_point_with_its_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make(tmp_path)
    install(folder / "src", "my-notes", entries={"my-notes": "my_notes.application:application"}, modules={})
    monkeypatch.setattr(sys, "path", [str(folder / "src"), *sys.path])
    monkeypatch.chdir(tmp_path)
    try:
        assert "my-notes" in [application.name for application in find_installed(Settings()).applications]
        told = CliRunner().invoke(app, ["my-notes", "list"])
        assert (told.exit_code, "there is no store at ./data" in told.stderr) == (1, True)
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "my_notes"]:
            del sys.modules[name]


@pytest.mark.parametrize("name", ["jobs", "My", "1st", "store", "class"])
def test_a_name_that_an_application_cannot_have_is_refused(tmp_path: Path, name: str) -> None:
    told = CliRunner().invoke(app, ["new", name, "--in", str(tmp_path / "x")])
    assert (told.exit_code, (tmp_path / "x").exists()) == (2, False)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    told = CliRunner().invoke(app, ["new", "notes", "--in", str(tmp_path)])
    assert (told.exit_code, [path.name for path in tmp_path.iterdir()]) == (2, ["notes.txt"])
