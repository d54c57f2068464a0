from pathlib import Path

import pytest

from gateleg.web.chromium import find_chromium


def test_the_one_that_is_named_comes_before_those_that_are_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed = tmp_path / "google-chrome"
    installed.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("GATELEG_CHROMIUM", raising=False)
    assert find_chromium() == str(installed)
    monkeypatch.setenv("GATELEG_CHROMIUM", "/opt/chromium")
    assert find_chromium() == "/opt/chromium"


def test_there_may_be_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("GATELEG_CHROMIUM", raising=False)
    assert find_chromium() is None
