"""Watchers that tests look at."""

from collections.abc import Callable
from dataclasses import dataclass, field

from gateleg.migrate import Step


@dataclass
class Recorder:
    """Agrees as it is told to, and remembers."""

    agrees: Callable[[Step], bool] = lambda step: True
    begun: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    waited: list[str] = field(default_factory=list)
    backups: list[tuple[str, str | None]] = field(default_factory=list)

    def agree(self, step: Step) -> bool:
        self.asked.append(step.action)
        return self.agrees(step)

    def begin(self, step: Step) -> None:
        self.begun.append(step.action)

    def waiting(self, text: str) -> None:
        self.waited.append(text)

    def end(self, step: Step) -> None:
        pass

    def kept(self, name: str, backup: str | None) -> None:
        self.backups.append((name, backup))
