"""Runs the commands on tables."""

import json
from typing import Any

from typer.testing import CliRunner, Result

from gateleg.cli.commands import app
from gateleg.store import Store


class TableCommands:
    """Runs commands on one store."""

    def __init__(self, store: str) -> None:
        self.store = store

    def run(
        self, command: str, *arguments: str, seeds: tuple[str, ...] = ("jobs", "mv", "rag"), input: str | bytes | None = None
    ) -> Result:
        given = [option for seed in seeds for option in ("--tables", f"tests.model.seeds.{seed}")]
        placed = [] if command in ("explain", "docs", "lint") else ["--store", self.store]
        return CliRunner().invoke(app, ["tables", command, *placed, *given, *arguments], input=input)

    def json(self, command: str, *arguments: str, **options: Any) -> Any:
        result = self.run(command, *arguments, "--json", **options)
        assert result.exit_code in (0, 1), result.output
        return json.loads(result.stdout)

    def open(self) -> Store:
        return Store.connect(self.store)
