"""A client of either layout, for crash tests: writes, reads back through both entities, and notes what it knows in a journal.

Every write stands in the journal before it is sent and after it was acknowledged, so that a client which takes over from one that was
killed knows what must be there. What a client reads must be what its journal says; anything else ends it with an error.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path
from typing import Any

from gateleg.migrate import Moving
from gateleg.migrate.errors import MoveClosed, MoveIncomplete
from gateleg.store import Store
from tests.migrate.moves.layouts import ACME, NewAgent, OldAgent, agents_move

OWN, SHARED = 12, 3


class Journal:
    """What a client knows: for each of its agents the value that it must have, and how often it has counted in shared ones."""

    def __init__(self, path: Path) -> None:
        self.known: dict[str, int | None] = {}
        #: a write whose end is not known: the agent, and the value that it may have got
        self.doubtful: dict[str, int | None] = {}
        self.counted = 0
        self.maybe = 0
        self.writes = 0
        self._open: str | None = None
        for line in path.read_text().splitlines() if path.exists() else []:
            try:
                self._take(json.loads(line))
            except json.JSONDecodeError:
                continue
        if (self._open or "").startswith("shared"):
            self.maybe += 1
        self._path = path

    def _take(self, entry: dict[str, Any]) -> None:
        uuid = entry["agent"]
        if entry["at"] == "before":
            if self._open is not None and self._open.startswith("shared"):
                self.maybe += 1
            self._open = uuid
            if not uuid.startswith("shared"):
                self.doubtful[uuid] = entry["value"]
            return
        self._open = None
        self.writes += 1
        if uuid.startswith("shared"):
            self.counted += entry["at"] == "done"
            return
        if entry["at"] in ("done", "found"):
            self.known[uuid] = entry["value"]
        self.doubtful.pop(uuid, None)

    def note(self, at: str, uuid: str, value: int | None) -> None:
        """Write a line, and make sure that it outlives this process."""
        entry = {"at": at, "agent": uuid, "value": value}
        self._take(entry)
        with self._path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


class Client:
    """Writes and reads agents of its own and shared ones, by the old entity or the new one, as the phase allows."""

    def __init__(self, store: Store, journal: Journal, name: str, seed: int) -> None:
        self.store, self.journal, self.name = store, journal, name
        self.random = random.Random(seed)
        #: which entity it prefers: an old release or a new one
        self.old = name in ("c0", "c1")

    def either(self, old: Any, new: Any, prefer_old: bool) -> Any:
        """Do it by one entity, or by the other when the phase does not allow the first."""
        try:
            return old() if prefer_old else new()
        except MoveClosed:
            return new()
        except MoveIncomplete:
            return old()

    def read(self, uuid: str, prefer_old: bool) -> int | None:
        """The value of an agent, or None."""
        found = self.either(
            lambda: self.store.find(OldAgent, endpoint_id="acme-prod", agent_uuid=uuid, consistent=True),
            lambda: self.store.find(NewAgent, partition_key=ACME, agent_uuid=uuid, consistent=True),
            prefer_old,
        )
        return None if found is None else int(found.uses)

    def check(self, uuid: str) -> None:
        """What is read by both entities must be what is known."""
        for prefer_old in (True, False):
            value = self.read(uuid, prefer_old)
            allowed = {self.journal.known.get(uuid)}
            if uuid in self.journal.doubtful:
                allowed.add(self.journal.doubtful[uuid])
            if value not in allowed:
                raise SystemExit(f"WRONG {uuid}: read {value} by {'old' if prefer_old else 'new'}, expected one of {allowed}")
            if uuid in self.journal.doubtful:
                # From now on it is known what became of the write.
                self.journal.note("found", uuid, value)

    def turn(self) -> None:
        """One write and some reads."""
        chance = self.random.random()
        if chance < 0.2:
            self.count(f"shared{self.random.randrange(SHARED)}")
            return
        uuid = f"{self.name}-{self.random.randrange(OWN)}"
        self.check(uuid)
        value = self.journal.known.get(uuid)
        if value is None:
            self.write(uuid, 1, lambda: self.create(uuid))
        elif chance < 0.35:
            self.write(uuid, None, lambda: self.delete(uuid))
        else:
            self.write(uuid, value + 1, lambda: self.patch(uuid, value + 1))
        self.check(uuid)
        if self.random.random() < 0.1:
            self.check_list()

    def write(self, uuid: str, value: int | None, work: Any) -> None:
        self.journal.note("before", uuid, value)
        work()
        self.journal.note("done", uuid, value)

    def create(self, uuid: str) -> None:
        self.either(
            lambda: self.store.create(OldAgent(endpoint_id="acme-prod", agent_uuid=uuid, uses=1, name=uuid)),
            lambda: self.store.create(NewAgent(partition_key=ACME, agent_uuid=uuid, uses=1, title=uuid)),
            self.old,
        )

    def delete(self, uuid: str) -> None:
        self.either(
            lambda: self.store.delete(OldAgent.key(endpoint_id="acme-prod", agent_uuid=uuid)),
            lambda: self.store.delete(NewAgent.key(partition_key=ACME, agent_uuid=uuid)),
            self.old,
        )

    def patch(self, uuid: str, value: int) -> None:
        self.either(
            lambda: self.store.patch(OldAgent.key(endpoint_id="acme-prod", agent_uuid=uuid), OldAgent.uses.set(value)),
            lambda: self.store.patch(NewAgent.key(partition_key=ACME, agent_uuid=uuid), NewAgent.uses.set(value)),
            self.old,
        )

    def count(self, uuid: str) -> None:
        """Add one to an agent that all clients count in."""
        self.journal.note("before", uuid, None)
        self.either(
            lambda: self.store.patch(OldAgent.key(endpoint_id="acme-prod", agent_uuid=uuid), OldAgent.uses.add(1)),
            lambda: self.store.patch(NewAgent.key(partition_key=ACME, agent_uuid=uuid), NewAgent.uses.add(1)),
            self.old,
        )
        self.journal.note("done", uuid, None)

    def check_list(self) -> None:
        """A list has each agent of its own once."""
        found = self.either(
            lambda: list(self.store.query(OldAgent.of_endpoint, endpoint_id="acme-prod", consistent=True)),
            lambda: list(self.store.query(NewAgent.of_partition, partition_key=ACME, consistent=True)),
            not self.old,
        )
        mine = sorted((one.agent_uuid, one.uses) for one in found if one.agent_uuid.startswith(f"{self.name}-"))
        expected = sorted((uuid, value) for uuid, value in self.journal.known.items() if value is not None)
        doubtful = set(self.journal.doubtful)
        if [one for one in mine if one[0] not in doubtful] != [one for one in expected if one[0] not in doubtful]:
            raise SystemExit(f"WRONG list of {self.name}: {mine}, expected {expected}")


def main(folder: str, name: str, seed: str) -> None:
    """Work until a file named `stop` is there."""
    place = Path(folder)
    store = Store.connect(f"embedded:{folder}/store?durability=relaxed").moving(Moving([agents_move], refresh=0.1, lease=2.0))
    client = Client(store, Journal(place / f"{name}.journal"), name, int(seed) + os.getpid())
    while not (place / "stop").exists():
        client.turn()


if __name__ == "__main__":
    main(*sys.argv[1:])
