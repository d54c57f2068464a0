"""Both type checkers accept correct code and report each wrong line."""

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]
IGNORE = "  # type: ignore"


def mypy_lines(path: Path) -> set[int]:
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "--explicit-package-bases", str(path)]
    environment = {**os.environ, "MYPYPATH": os.pathsep.join([str(ROOT), str(ROOT / "src")])}
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    assert "import-not-found" not in result.stdout, result.stdout
    return {int(line) for line in re.findall(rf"{path.name}:(\d+): error", result.stdout)}


def pyright_lines(path: Path) -> set[int]:
    project = path.parent / "pyrightconfig.json"
    project.write_text(json.dumps({"include": [path.name], "extraPaths": [str(ROOT), str(ROOT / "src")], "pythonVersion": "3.11"}))
    command = [sys.executable, "-m", "pyright", "-p", str(project), "--pythonpath", sys.executable, "--outputjson"]
    result = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False)
    try:
        report = json.loads(result.stdout)
    except ValueError:
        pytest.skip(f"pyright does not run here: {result.stderr.strip()[-200:]}")
    return {entry["range"]["start"]["line"] + 1 for entry in report["generalDiagnostics"] if entry["severity"] == "error"}


CHECKERS = {"mypy": mypy_lines, "pyright": pyright_lines}
EACH = ["mypy", pytest.param("pyright", marks=pytest.mark.slow)]


@pytest.mark.parametrize("checker", EACH)
def test_the_checker_accepts_correct_code(checker: str, tmp_path: Path) -> None:
    right = tmp_path / "right.py"
    right.write_text((HERE / "good.py").read_text())
    assert CHECKERS[checker](right) == set()


@pytest.mark.parametrize("checker", EACH)
def test_the_checker_refuses_every_wrong_line(checker: str, tmp_path: Path) -> None:
    lines = (HERE / "bad.py").read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if line.endswith(IGNORE)}
    wrong = tmp_path / "wrong.py"
    wrong.write_text("\n".join(line.removesuffix(IGNORE) for line in lines) + "\n")
    assert CHECKERS[checker](wrong) == expected


def test_code_that_type_checks_also_runs() -> None:
    importlib.import_module("tests.model.typing.good")
