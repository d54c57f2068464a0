"""Both type checkers know the types of the store's methods, line by line."""

from pathlib import Path

import pytest

from tests.model.typing.test_typing import CHECKERS, EACH, IGNORE

HERE = Path(__file__).parent


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
