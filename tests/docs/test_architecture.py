"""ARCHITECTURE.md names folders, files, classes and functions that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "gateleg"
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
_CODE = re.compile(r"`([^`\n]+)`")
_ROOM = re.compile(r"^\| `([\w/]+)` \|[^|]+\|([^|]*)\|([^|]*)\|$", re.MULTILINE)
_STEP = re.compile(r"^\d+\. (.*?)(?=^\d+\. |^#|\Z)", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"[A-Za-z]\w*(\.\w+)?")

ROOMS = [pytest.param(*row, id=row[0]) for row in _ROOM.findall(TEXT)]
STEPS = [pytest.param(step, id=_CODE.findall(step)[0]) for step in _STEP.findall(TEXT.partition("## Four walks")[2].partition("\n## ")[0])]


def _is_path(code: str) -> bool:
    return code.endswith((".py", "/")) and "://" not in code


def _walks_and_after() -> str:
    return TEXT.partition("## Four walks")[2]


@pytest.mark.parametrize(("room", "folders", "files"), ROOMS)
def test_a_room_has_the_folders_and_files_of_its_row(room: str, folders: str, files: str) -> None:
    missing = [name for name in _CODE.findall(folders) if not (PACKAGE / room / name).is_dir()]
    missing += [name for name in _CODE.findall(files) if not (PACKAGE / room / name).is_file()]
    assert not missing


def test_every_room_has_a_row() -> None:
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")} - {"apps", "processes"}
    rooms |= {f"apps/{path.parent.name}" for path in PACKAGE.glob("apps/*/__init__.py")}
    assert rooms <= {str(param.values[0]) for param in ROOMS}


def test_every_path_in_the_text_exists() -> None:
    paths = [code for code in _CODE.findall(_walks_and_after()) if _is_path(code)]
    assert len(paths) > 50
    assert [path for path in paths if not (PACKAGE / path).exists() and not (ROOT / path).exists()] == []


@pytest.mark.parametrize("step", STEPS)
def test_names_in_a_step_of_a_walk_are_in_its_files(step: str) -> None:
    codes = _CODE.findall(step)
    source = "".join(path.read_text() for code in codes if (path := PACKAGE / code).suffix == ".py" and path.is_file())
    names = [name for code in codes if _NAME.fullmatch(code) and not _is_path(code) for name in code.split(".")]
    assert [name for name in names if not re.search(rf"\b{name}\b", source)] == []
