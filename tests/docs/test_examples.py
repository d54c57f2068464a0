"""The Python examples of the README and the docs run as they stand.

An example that begins with the name of a file, such as `# shop/model.py`, is a file of a project. A page with such examples is one project:
all of its files are written to a folder, and its tests are run there by pytest.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w/]+\.py)\n")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _blocks(page: Path) -> list[str]:
    return _BLOCK.findall(page.read_text())


def _files(page: Path) -> dict[str, str]:
    return {named[1]: code for code in _blocks(page) if (named := _FILE.match(code))}


EXAMPLES = [
    pytest.param(code, id=f"{_name(page)}:{number}")
    for page in PAGES
    for number, code in enumerate(_blocks(page), start=1)
    if not _FILE.match(code)
]
PROJECTS = [pytest.param(files, id=_name(page)) for page in PAGES if (files := _files(page))]


@pytest.mark.parametrize("code", EXAMPLES)
def test_example_runs(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["example"])
    exec(compile(code, "example", "exec"), {"__name__": "example"})


@pytest.mark.parametrize("files", PROJECTS)
def test_project_passes_its_tests(files: dict[str, str], tmp_path: Path) -> None:
    for name, code in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:asyncio", "-p", "no:cacheprovider", "--rootdir", ".", "."]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
