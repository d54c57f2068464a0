"""The store's verbs on an engine in this process, beside the engine's own call of the same request.

    python bench/verbs.py [--quick] [--json]
    python bench/verbs.py --walk [--functions "patch, counters"]

Two entities: a plain one (a key and two attributes) and a rich one (thirteen attributes, a version, a stamp, an index with a key of its
own). Each verb is timed whole, as an application calls it; `engine` is `Engine.call` with the request that the verb sends. Microseconds of
processor time, the best of many turns; all rows take turns in every round, so that a machine that is slow for a while is slow for all.
`calls` are the Python functions that one verb enters.

`--walk` shows what a reader follows instead: the functions of gateleg that one call enters, warm and without compiled ones, the files that
they are in, how often the call goes from one file to another, and how often it comes straight back (from A to B to A). `--functions` lists
the functions of one row in order.
"""

import argparse
import asyncio
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import orjson
from rich.console import Console
from rich.table import Table as Figures

import gateleg
from gateleg.endpoint.dispatcher import Dispatcher, EngineCall, execute
from gateleg.endpoint.http import IncomingRequest
from gateleg.engine import Engine
from gateleg.jobs import JobContext, Jobs, Queue, Submission
from gateleg.jobs.claim import CandidateSelector
from gateleg.jobs.rules import Completed
from gateleg.jobs.tables.job import Results
from gateleg.model import GSI, Attr, Counter, Entity, Key, Pattern, States, Table, Version, field, spec_of, stamp, state
from gateleg.store import AsyncStore, Store, create, patch, put
from gateleg.store.transports.embedded import AsyncEmbeddedTransport, EmbeddedTransport

WHEN = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)
OWNER = UUID("0f8fad5b-d9cb-469f-a165-70867728950e")
#: How many calls make a turn.
TURN = 200

notes = Table("Notes", hash="owner", range="number")
scenes = Table("Scenes", hash="pk", range="sk", indexes=[GSI("by-style", hash="style_key", range="made_at")])
films = Table("Films", hash="pk", range="sk")


class Note(Entity, table=notes):
    """The plain one."""

    owner: Attr[str]
    number: Attr[int]
    text: Attr[str] = field("")

    key = Key("{owner}", "{number}")
    of_owner = Pattern(title="The notes of an owner")


class Scene(Entity, table=scenes):
    """The rich one."""

    film: Attr[UUID]
    number: Attr[int]
    text: Attr[str] = field("")
    style: Attr[str] = field("film grain")
    duration: Attr[float] = field(5.5)
    frames: Attr[int] = field(24, ge=1, le=240)
    approved: Attr[bool] = field(False)
    clip: Attr[str | None] = field(None)
    references: Attr[list[str]] = field(factory=lambda: ["character.png", "product.png"])
    labels: Attr[dict[str, str]] = field(factory=lambda: {"take": "second"})
    made_at: Attr[datetime] = field(WHEN)
    updated_at: Attr[datetime] = stamp(on="write")
    version: Attr[Version] = field(0)

    key = Key("FILM#{film}", "SCENE#{number:05d}")
    style_key = Key("STYLE#{style}", "{made_at}", index="by-style")
    of_film = Pattern(title="The scenes of a film, in order")


class Cut(States):
    """Where a shot is on its way."""

    ROUGH = state("ROUGH", to=["FINE"])
    FINE = state("FINE")


class Film(Entity, table=films):
    """What has two counters."""

    film: Attr[str]
    shots: Attr[int] = field(0)
    finished: Attr[int] = field(0)

    key = Key("FILM#{film}", "FILM")


class Shot(Entity, table=films):
    """What is counted."""

    film: Attr[str]
    number: Attr[int]
    cut: Attr[Cut] = field(Cut.ROUGH)
    version: Attr[Version] = field(0)

    key = Key("FILM#{film}", "SHOT#{number:05d}")
    every_shot = Counter(Film.shots)
    every_finished = Counter(Film.finished, when={"cut": [Cut.FINE]})


jobs = Jobs()


@jobs.handler("noop")
def noop(job: JobContext, config: dict[str, Any]) -> None:
    """Do nothing."""


@dataclass
class Case:
    """Something that is timed: what a turn begins with, and what is done with each of its inputs."""

    name: str
    prepare: Callable[[], list[Any]]
    call: Callable[[Any], Any]
    own: Callable[[Any], Any] | None = None
    awaited: bool = False
    best: float = float("inf")
    own_best: float = float("inf")
    calls: int = 0


def note(number: int) -> Note:
    """A plain instance."""
    return Note(owner="anna", number=number, text="Buy milk")


def scene(number: int) -> Scene:
    """A rich instance."""
    return Scene(film=OWNER, number=number, text="A singer walks through a field of tall grass at dusk")


def get_request(instance: Any) -> dict[str, Any]:
    """The GetItem request for an instance."""
    spec = spec_of(type(instance))
    return {"TableName": spec.table.name, "Key": spec.ref(instance).key}


def create_request(instance: Any) -> dict[str, Any]:
    """The PutItem request that creates an item."""
    return create(instance).params()


def put_request(instance: Any) -> dict[str, Any]:
    """The PutItem request that replaces an item."""
    return put(instance).params()


class World:
    """An engine with both tables, and the verbs on it."""

    def __init__(self) -> None:
        self.engine = Engine(":memory:", background=False)
        self.store = Store(EmbeddedTransport(self.engine))
        self.async_store = AsyncStore(AsyncEmbeddedTransport(self.engine))
        self.store.create_tables(notes, scenes)

    def emptied(self, build: Callable[[int], Any]) -> list[Any]:
        """New instances that are not stored, and an empty table."""
        table = notes if build is note else scenes
        self.engine.call("DeleteTable", {"TableName": table.name})
        self.store.create_tables(table)
        return [build(number) for number in range(TURN)]

    def filled(self, build: Callable[[int], Any]) -> list[Any]:
        """Stored instances."""
        return [self.store.create(instance) for instance in self.emptied(build)]

    def cases(self, kind: str, build: Callable[[int], Any], entity: Any, parts: Callable[[Any], dict[str, Any]]) -> list[Case]:
        """All rows of one entity."""
        store, waiting = self.store, self.async_store
        pattern, hashes = (Note.of_owner, {"owner": "anna"}) if entity is Note else (Scene.of_film, {"film": OWNER})

        def own(prepare: Callable[[Callable[[int], Any]], list[Any]], operation: str, make: Callable[[Any], Any]) -> Callable[[Any], Any]:
            return lambda _: [(operation, make(one)) for one in prepare(build)]

        def keys() -> list[Any]:
            return [parts(one) for one in self.filled(build)]

        def hundred() -> list[Any]:
            self.filled(build)
            return [None] * 4

        async def all_of() -> list[Any]:
            return [one async for one in waiting.query(pattern, limit=100, **hashes)]

        return [
            Case(f"get, {kind}", keys, lambda key: store.get(entity, **key), own(self.filled, "GetItem", get_request)),
            Case(
                f"create, {kind}", lambda: self.emptied(build), store.create, own(self.emptied, "PutItem", lambda new: create(new).params())
            ),
            Case(f"put, {kind}", lambda: self.filled(build), store.put, own(self.filled, "PutItem", lambda one: put(one).params())),
            Case(
                f"patch, {kind}",
                lambda: self.filled(build),
                lambda one: store.patch(one, entity.text.set("Buy bread")),
                own(self.filled, "UpdateItem", lambda one: patch(one, entity.text.set("Buy bread")).params()),
            ),
            Case(f"query of 100, {kind}", hundred, lambda _: list(store.query(pattern, limit=100, **hashes))),
            Case(f"get awaited, {kind}", keys, lambda key: waiting.get(entity, **key), awaited=True),
            Case(f"put awaited, {kind}", lambda: self.filled(build), waiting.put, awaited=True),
            Case(f"query of 100 awaited, {kind}", hundred, lambda _: all_of(), awaited=True),
        ]


def timed(call: Callable[[Any], Any], inputs: list[Any], awaited: bool, loop: asyncio.AbstractEventLoop) -> float:
    """Microseconds of one call."""

    async def every() -> float:
        start = time.process_time()
        for one in inputs:
            await call(one)
        return time.process_time() - start

    gc.collect()
    gc.disable()
    try:
        if awaited:
            taken = loop.run_until_complete(every())
        else:
            start = time.process_time()
            for one in inputs:
                call(one)
            taken = time.process_time() - start
    finally:
        gc.enable()
    return taken / len(inputs) * 1e6


def counted(call: Callable[[Any], Any], inputs: list[Any]) -> int:
    """The Python functions that one call enters, the second time."""
    call(inputs[0])
    entered = 0

    def note_call(frame: Any, event: str, argument: Any) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(note_call)
    try:
        call(inputs[1])
    finally:
        sys.setprofile(None)
    return entered - 1


def measure(rounds: int) -> list[Case]:
    """Every row, with its best figures."""
    world, loop = World(), asyncio.new_event_loop()
    cases = world.cases("plain", note, Note, lambda one: {"owner": one.owner, "number": one.number})
    cases += world.cases("rich", scene, Scene, lambda one: {"film": one.film, "number": one.number})
    for _ in range(rounds):
        for case in cases:
            case.best = min(case.best, timed(case.call, case.prepare(), case.awaited, loop))
            if case.own is not None:
                requests = case.own(None)
                case.own_best = min(case.own_best, timed(lambda one: world.engine.call(*one), requests, False, loop))
    for case in cases:
        if not case.awaited:
            case.calls = counted(case.call, case.prepare())
    loop.run_until_complete(world.async_store.close())
    world.engine.close()
    return cases


def show(cases: list[Case]) -> None:
    """The table of all figures."""
    figures = Figures("verb", "us", "engine", "ratio", "calls")
    for case in cases:
        own = case.own is not None
        figures.add_row(
            case.name,
            f"{case.best:,.1f}",
            f"{case.own_best:,.1f}" if own else "",
            f"{case.best / case.own_best:.2f}x" if own else "",
            str(case.calls or ""),
        )
    Console(width=100).print(figures)


#: What the file name of a function of gateleg begins with.
PACKAGE = f"{Path(gateleg.__file__).parent}/"


@dataclass(frozen=True)
class Walk:
    """The functions of gateleg that one call entered, in order: the file and the name of each. A generator is entered at each step."""

    entered: list[tuple[str, str]]

    @classmethod
    def of(cls, call: Callable[[], Any]) -> "Walk":
        """Make a call, and note what it enters."""
        entered: list[tuple[str, str]] = []

        def note_call(frame: Any, event: str, argument: Any) -> None:
            code = frame.f_code
            if event == "call" and code.co_filename.startswith(PACKAGE):
                entered.append((code.co_filename.removeprefix(PACKAGE), code.co_qualname))

        sys.setprofile(note_call)
        try:
            call()
        finally:
            sys.setprofile(None)
        return cls(entered)

    def figures(self) -> tuple[int, int, int, int]:
        """The calls, the files, the switches from one file to another, and those that come straight back."""
        files = [file for file, _ in self.entered]
        visits = [file for number, file in enumerate(files) if not number or files[number - 1] != file]
        returns = sum(first == third for first, third in zip(visits, visits[2:], strict=False))
        return len(files), len(set(files)), len(visits) - 1, returns


def walks() -> dict[str, Walk]:
    """One warm call of each kind: it is made for other items before."""
    engine = Engine(":memory:")
    store = Store(EmbeddedTransport(engine, owned=True))
    store.create_tables(notes, films)
    queue = Queue(store, jobs)
    queue.ensure_tables()
    store.create(Film(film="a"))
    kept = [(store.create(note(number)), store.create(Shot(film="a", number=number))) for number in range(3)]
    dispatcher = Dispatcher(engine.is_write, region="local", verifier=None, separate=False, max_body=1 << 20)
    headers = {
        b"x-amz-target": b"DynamoDB_20120810.PutItem",
        b"content-type": b"application/x-amz-json-1.0",
        b"authorization": b"AWS4-HMAC-SHA256 Credential=key/20260301/local/dynamodb/aws4_request, SignedHeaders=host, Signature=0",
        b"x-amz-date": b"20260301T100000Z",
    }

    def serve(number: int) -> None:
        body = orjson.dumps({"TableName": notes.name, "Item": spec_of(Note).encode(note(100 + number))})
        call = dispatcher.route(IncomingRequest(b"POST", b"/", headers, body))
        assert isinstance(call, EngineCall)
        assert execute(engine, call).status == 200

    # Each claim reads the candidates.
    selector, claimed = CandidateSelector(time.monotonic, fresh_for=-1.0), list[Any]()
    done = Completed(Results(result_type="SUCCESS"))
    rows: dict[str, Callable[[int], Any]] = {
        "get": lambda number: store.get(Shot, film="a", number=number),
        "patch": lambda number: store.patch(kept[number][0], Note.text.set("Buy bread")),
        "patch, counters": lambda number: store.patch(kept[number][1], Shot.cut.to(Cut.FINE)),
        "create, counters": lambda number: store.create(Shot(film="a", number=10 + number)),
        "submit": lambda number: queue.submit(Submission("noop", {})),
        "claim": lambda number: claimed.append(queue.claim(selector, "default", "bench")),
        "complete": lambda number: queue.finish(claimed[number], done),
        "PutItem, dispatcher": serve,
    }
    found: dict[str, Walk] = {}
    for name, call in rows.items():
        for number in range(2):
            call(number)
        found[name] = Walk.of(lambda call=call: call(2))  # type: ignore[misc]
    store.close()
    return found


def show_walks(functions: str | None) -> None:
    """The table of all walks, or the functions of one."""
    found = walks()
    if functions is not None:
        if functions not in found:
            raise SystemExit(f"There is no walk {functions!r}, only {', '.join(map(repr, found))}.")
        for file, name in found[functions].entered:
            print(file, name)
        return
    figures = Figures("walk", "calls", "files", "switches", "A-B-A")
    for name, walk in found.items():
        figures.add_row(name, *map(str, walk.figures()))
    Console(width=100).print(figures)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--json", action="store_true", help="print the figures for a program to read")
    parser.add_argument("--walk", action="store_true", help="count the functions and files that one call enters")
    parser.add_argument("--functions", metavar="WALK", help="list the functions of one walk")
    arguments = parser.parse_args()
    if arguments.walk or arguments.functions:
        show_walks(arguments.functions)
        return
    cases = measure(5 if arguments.quick else 40)
    if arguments.json:
        print(orjson.dumps({case.name: (case.best, case.calls) for case in cases}).decode())
    else:
        show(cases)


if __name__ == "__main__":
    main()
