"""Both type checkers accept what is right and refuse what is wrong, line by line."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
IGNORE = "  # type: ignore"


def mypy_lines(path: Path) -> set[int]:
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), str(path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return {int(line) for line in re.findall(rf"{path.name}:(\d+): error", result.stdout)}


def pyright_lines(path: Path) -> set[int]:
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", str(path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    try:
        report = json.loads(result.stdout)
    except ValueError:
        pytest.skip(f"pyright does not run here: {result.stderr.strip()[-200:]}")
    return {entry["range"]["start"]["line"] + 1 for entry in report["generalDiagnostics"] if entry["severity"] == "error"}


CHECKERS = {"mypy": mypy_lines, "pyright": pyright_lines}


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_checker_accepts_what_is_right(checker: str) -> None:
    assert CHECKERS[checker](HERE / "good.py") == set()


@pytest.mark.parametrize("checker", CHECKERS)
def test_the_checker_refuses_every_wrong_line(checker: str, tmp_path: Path) -> None:
    lines = (HERE / "bad.py").read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if line.endswith(IGNORE)}
    # Beside the package under test, so that both checkers resolve its imports as they do for the project.
    naked = HERE / f"bad_{checker}_{tmp_path.name}.py"
    naked.write_text("\n".join(line.removesuffix(IGNORE) for line in lines) + "\n")
    try:
        found = CHECKERS[checker](naked)
    finally:
        naked.unlink()
    assert found == expected


def test_what_type_checks_also_runs() -> None:
    importlib.import_module("tests.model.typing.good")
