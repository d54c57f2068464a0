"""The power goes at a write: what was acknowledged is there, and the file is whole."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateleg.engine import Engine, EngineError, check_integrity
from gateleg.engine.database import Durability
from tests.engine.crash import ledger, settings
from tests.engine.crash.disk import Disk, Event, Mark, Remains, Sync, Write, recorded
from tests.engine.crash.ledger import History, Step
from tests.engine.formats import scenario
from tests.engine.formats.history import HERE, unpack
from tests.engine.formats.test_formats import differences

pytestmark = pytest.mark.crash

#: Marks are the numbers of acknowledged steps; this one says that the tables were there.
_CREATED = 0
#: Not a mark: not all of the tables are there yet.
_BARE = -1


def _work(disk: Disk, path: Path, durability: Durability, chance: random.Random, steps: int) -> list[Step]:
    """Take steps on a recorded disk, alone and in groups, with checkpoints and new openings in between; the ones that took effect."""
    done: list[Step] = []
    engine = _open(disk, path, durability)
    ledger.create(engine.call)
    disk.mark(_CREATED)
    while len(done) < steps:
        size = chance.choice((1, 1, 4))
        group = engine.begin_group() if size > 1 else None
        done += [step for step in (ledger.plan(chance, len(done) * 10 + n) for n in range(size)) if _took_effect(engine, step)]
        if group is not None:
            group.commit()
        disk.mark(len(done))
        if chance.random() < 0.05:
            ledger.switch_index(engine.call)
        if chance.random() < 0.05:
            engine.close()
            engine = _open(disk, path, durability)
    engine.close()
    return done


def _took_effect(engine: Engine, step: Step) -> bool:
    try:
        engine.call(*ledger.requests("w", step))
    except EngineError as error:
        if error.code != "TransactionCanceledException":
            raise
        return False
    return True


def _open(disk: Disk, path: Path, durability: Durability) -> Engine:
    engine = Engine(str(path), durability=durability, background=False, vfs=disk.vfs)
    # Checkpoints come after every few writes, so that they are cut as well.
    engine.database.connection.execute("PRAGMA wal_autocheckpoint=40").fetchall()
    return engine


def _cuts(events: list[Event], chance: random.Random, folder: Path, share: float) -> Iterator[tuple[int, int | None]]:
    """Cut the power after each event, or after a share of them: leaves the files in the folder, tells the last mark before."""
    remains = Remains()
    acknowledged: int | None = None
    for position, event in enumerate(events):
        remains.see(event)
        if isinstance(event, Mark):
            acknowledged = event.number
        elif chance.random() < share:
            shutil.rmtree(folder, ignore_errors=True)
            remains.cut(chance, folder)
            yield position, acknowledged


def _judge(path: Path, done: list[Step], possible: list[int]) -> None:
    """The file is whole, and holds the first steps up to one of the numbers."""
    assert check_integrity(str(path)) == []
    with Engine(str(path), background=False) as engine:
        if not _complete(engine):
            assert _BARE in possible
            return
        found = [ledger.faults(engine.call, [History("w", tuple(done[:number]))]) for number in possible if number != _BARE]
        assert [] in found, found[-2:]
        # And it goes on.
        engine.call("PutItem", {"TableName": "Orders", "Item": {"writer": {"S": "after"}, "n": {"N": "1"}}})


def _possible(marks: list[int], acknowledged: int | None, durability: Durability) -> list[int]:
    """How many steps may be there: all that were acknowledged and, since it may have been on its way, the next group; relaxed, fewer."""
    marks = [_BARE, *marks]
    place = marks.index(_BARE if acknowledged is None else acknowledged)
    return marks[place if durability == "full" else 0 : place + 2]


def _complete(engine: Engine) -> bool:
    """Whether the power went after the tables and the accounts were made."""
    try:
        return len(ledger.scan(engine.call, "Counters")) == 1
    except EngineError:
        return False


@pytest.mark.parametrize("durability", ["full", "relaxed"])
@pytest.mark.parametrize(("steps", "share"), [(25, 1.0), (250, 0.02)], ids=["every write", "a long run"])
def test_a_power_cut_costs_nothing_that_was_acknowledged(
    durability: Durability, steps: int, share: float, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(settings.SEED)
    path = tmp_path / "live" / "data.db"
    with recorded() as disk:
        done = _work(disk, path, durability, chance, steps)
        events = disk.events
    marks = list(dict.fromkeys(event.number for event in events if isinstance(event, Mark)))
    folder = tmp_path / "cut"
    cuts = 0
    for position, acknowledged in _cuts(events, chance, folder, share):
        cuts += 1
        if not (folder / "data.db").exists():
            assert acknowledged is None
            continue
        try:
            _judge(folder / "data.db", done, _possible(marks, acknowledged, durability))
        except Exception as error:
            raise AssertionError(f"seed {settings.SEED}, cut after event {position}: {events[position]!r:.200}") from error
    with capsys.disabled():
        print(f"\n  power: {durability}, {len(done)} writes, {len(events)} events, {cuts} cuts")
    assert cuts > 10


@pytest.mark.parametrize("commit", ["3bb955ec", "4e80be4b"])
def test_a_power_cut_during_an_upgrade_leaves_the_file_as_it_was_or_upgraded(
    commit: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(settings.SEED)
    path, answer = unpack(HERE / f"{commit}.zip", tmp_path / "live")
    whole: list[Event] = [Write(path.name, 0, path.read_bytes()), Sync(path.name)]
    with recorded() as disk:
        _open(disk, path, "full").close()
        events = disk.events
    folder = tmp_path / "cut"
    cuts = 0
    for position, _ in _cuts(whole + events, chance, folder, 1.0):
        if position < len(whole):
            continue  # not written by the upgrade
        cuts += 1
        with Engine(folder / "data.db", clock=lambda: scenario.START + 3600, background=False) as engine:
            assert differences(scenario.content(engine), answer["content"]) == [], (settings.SEED, position)
        assert check_integrity(folder / "data.db") == []
    with capsys.disabled():
        print(f"\n  power during an upgrade: {len(events)} events, {cuts} cuts")
    assert cuts > 10
