"""The recipes for containers and for systemd: their commands are commands of Gateleg, and systemd understands the unit."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.modules import DOCS
from tests.docs.test_commands import parse

PAGE = (DOCS / "how-to" / "production.md").read_text()
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
UNIT, CHANGES = [text for language, text in _BLOCK.findall(PAGE) if language == "ini"]


@pytest.mark.parametrize("unit", [UNIT, CHANGES], ids=["host", "worker"])
def test_a_unit_starts_a_command_of_gateleg(unit: str) -> None:
    (arguments,) = re.findall(r"^ExecStart=\S+/gateleg (.*)$", unit, re.MULTILINE)
    parse(shlex.split(arguments), whole=True)


def test_the_first_key_is_created_by_a_command_of_gateleg() -> None:
    (arguments,) = re.findall(r"systemd-run .*?/gateleg (keys .*)$", PAGE.replace("\\\n", ""), re.MULTILINE)
    parse(shlex.split(arguments), whole=True)


def test_the_image_and_its_containers_run_commands_of_gateleg() -> None:
    (image,) = [text for language, text in _BLOCK.findall(PAGE) if language == "dockerfile"]
    (default,) = re.findall(r'^CMD \["gateleg", (.*)\]$', image, re.MULTILINE)
    commands = [shlex.split(default.replace(",", " "))]
    commands += [shlex.split(line) for line in re.findall(r"docker run .*?\bshop gateleg (.*)$", PAGE.replace("\\\n", ""), re.MULTILINE)]
    assert len(commands) == 4
    for words in commands:
        parse(words, whole=True)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("changes", ["", CHANGES], ids=["host", "worker"])
def test_systemd_accepts_the_unit(changes: str, tmp_path: Path) -> None:
    service = tmp_path / "gateleg.service"
    # systemd looks for the program, which is elsewhere on this machine.
    replaced = re.sub("=/opt/gateleg/bin/gateleg", f"={sys.executable}", UNIT)
    service.write_text(replaced + re.sub("ExecStart=.*\n", "", changes))
    checked = subprocess.run(["systemd-analyze", "verify", service], capture_output=True, text=True, check=False)
    assert (checked.returncode, [line for line in checked.stderr.splitlines() if "gateleg.service" in line]) == (0, [])
