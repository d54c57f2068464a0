"""The commands in the docs are commands of Gateleg: their names, options and arguments are parsed, and nothing is run.

So are those that docstrings name, which are the reference, and the fixes of errors.
"""

import re
import shlex
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import typer

from gateleg.cli.commands import app
from tests.docs.modules import DOCS, ROOT, docs_module

generate = docs_module("generate")
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
_LINE = re.compile(r"^ *\$ (gateleg .*)$", re.MULTILINE)
_INLINE = re.compile(r"`(gateleg [^`\n]*)`")
_MAIN: Any = typer.main.get_command(app)
#: Applications that the docs make up.
_INVENTED = {"my-notes", "{name}", "{cmd_name}"}
#: Typer brings its own copy of click.
_UsageError: Any = typer.BadParameter.__base__


def _commands(pattern: re.Pattern[str], files: list[Path]) -> list[Any]:
    return [
        pytest.param(words, id=f"{file.relative_to(ROOT)}: {text}")
        for file in files
        for text in sorted(set(pattern.findall(generate.fill(file.read_text(), generate.FRAGMENTS))))
        if (words := _words(text)) and words[0] not in _INVENTED
    ]


def _words(text: str) -> list[str]:
    """The words after `gateleg`, up to a redirection or another command of the shell."""
    _, *words = shlex.split(text, comments=True)
    return [*takewhile(lambda word: word not in ("|", ">", "<", "&&"), words)]


def parse(words: list[str], *, whole: bool) -> None:
    """Parse the words of a command; with `whole`, a missing argument is an error too. Raises a usage error."""
    command, context = _MAIN, None
    rest = [*words]
    while True:
        context = command.make_context(command.name, rest, parent=context, resilient_parsing=not whole)
        if not hasattr(command, "resolve_command"):
            return
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, command, rest = command.resolve_command(context, rest)
        if command is None:
            raise _UsageError(f"no such command: {name}")


@pytest.mark.parametrize("words", _commands(_LINE, PAGES))
def test_a_command_line_is_complete(words: list[str]) -> None:
    parse(words, whole=True)


@pytest.mark.parametrize("words", _commands(_INLINE, [*PAGES, *SOURCES]))
def test_a_named_command_exists(words: list[str]) -> None:
    parse([word for word in words if word != "..."], whole=False)


def test_what_is_wrong_is_noticed() -> None:
    for words in (["tables", "template"], ["tables", "plann"], ["jobs", "list", "--stauts", "FAILED"], ["nothing"]):
        with pytest.raises(_UsageError):
            parse(words, whole=True)
    with pytest.raises(_UsageError):
        parse(["tables", "plann"], whole=False)
