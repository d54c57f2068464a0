"""`Host`: everything that the HTTP surfaces, the console and the applications work with, opened once for a process."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from gateleg.jobs import LAYOUTS, AsyncQueue, Jobs
from gateleg.objects import ThreadedObjects, open_objects, parse_objects_address
from gateleg.objects.private import make_private
from gateleg.store import AsyncStore, Metrics
from gateleg.store.addresses import parse_address
from gateleg.web.application import Application, checked
from gateleg.web.audit import Audit
from gateleg.web.events import Hub
from gateleg.web.keys import Keys
from gateleg.web.local import LocalAccess
from gateleg.web.principal import Role
from gateleg.web.queue_stats import QueueStatsCache
from gateleg.web.resources import Resources
from gateleg.web.sections import NoSettings
from gateleg.web.sessions import Sessions
from gateleg.web.settings import BadSettings, shown
from gateleg.web.tables import TABLES as WEB_TABLES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from pydantic import BaseModel

    from gateleg.jobs import DeclaredSchedule
    from gateleg.jobs import QueueSettings as JobSettings
    from gateleg.model import Table
    from gateleg.net import Secret
    from gateleg.objects import AsyncObjects, Objects
    from gateleg.web.principal import Principal
    from gateleg.web.settings import Settings

    _Declared = dict[str, tuple[DeclaredSchedule, ...]]


#: Seconds in which the store says who calls.
_RECOGNISED = 5.0


@dataclass(frozen=True)
class Host:
    """A running host. Each application sees its own `Resources` of it."""

    settings: Settings
    store: AsyncStore
    objects: AsyncObjects
    #: the objects store that is not awaited: it verifies links, where it makes them
    vault: Objects
    queue: AsyncQueue
    applications: tuple[Application, ...]
    secret: Secret = field(repr=False)
    keys: Keys
    sessions: Sessions
    #: who may come while there is no key
    local: LocalAccess
    audit: Audit
    #: what requests to the store have cost, by access pattern
    costs: Metrics
    #: how the queues do, read once for everybody
    pulse: QueueStatsCache
    #: what changes, for whoever follows it
    events: Hub
    #: what each application works with, by its name
    resources: Mapping[str, Resources[Any]]

    @property
    def tables(self) -> tuple[Table, ...]:
        """All declared tables: those of the queue, of the host, and of the applications."""
        own = (table for application in self.applications for table in application.tables)
        return tuple(dict.fromkeys((*self.queue.tables.all, *WEB_TABLES, *own)))

    def tables_for(self, principal: Principal) -> tuple[Table, ...]:
        """The tables that somebody may look into: keys, sessions and the audit log are for admins."""
        return tuple(table for table in self.tables if table not in WEB_TABLES or principal.may(Role.ADMIN))

    @property
    def environment(self) -> str:
        """Where the host works, in a few words: "embedded, ./data" or "DynamoDB, eu-west-1"."""
        return place_of(self.settings.store)

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        settings: Settings,
        applications: Iterable[Application] = (),
        *,
        clock: Callable[[], float] = time.time,
        ticks: Callable[[], float] = time.monotonic,
        rules: JobSettings | None = None,
    ) -> AsyncIterator[Host]:
        """A host on the store and the objects that the settings name, with all tables there; closed at the end of the block.

        `rules` are those of the queue, for a worker.
        """
        installed = checked(applications)
        sections = _sections(settings, installed)
        make_private(settings.data)
        secret = settings.load_secret()
        costs = Metrics()
        vault = open_vault(settings, secret)
        objects = cast("AsyncObjects", ThreadedObjects(vault))
        store = AsyncStore.connect(
            settings.store,
            settings.prefix,
            table_names=settings.table_names,
            cursor_key=secret.key("cursors"),
            hooks=[costs],
            clock=clock,
            ticks=ticks,
        )
        try:
            # Every request waits for these: a store that hangs must not hang them all.
            prompt = store.within(_RECOGNISED)
            keys = Keys(prompt)
            jobs = Jobs()
            queue = AsyncQueue(store, jobs, rules, tables=LAYOUTS[settings.queue_layout])
            audit, events = Audit(store, days=settings.audit_days), Hub()
            # Handlers are made with the queue that they are added to.
            resources = {
                one.name: Resources(one.name, store, objects, queue, own, events, audit, settings.data)
                for one, own in zip(installed, sections, strict=True)
            }
            declared = _add_handlers(jobs, installed, resources)
            host = cls(
                settings=settings,
                store=store,
                objects=objects,
                vault=vault,
                queue=queue,
                applications=installed,
                secret=secret,
                keys=keys,
                sessions=Sessions(prompt, keys, secret, settings),
                local=LocalAccess(keys, secret),
                audit=audit,
                costs=costs,
                pulse=QueueStatsCache(queue),
                events=events,
                resources=resources,
            )
            await store.ensure_tables(*host.tables)
            await queue.warn_of_other_tables()
            await queue.declare_schedules(declared)
            try:
                yield host
            finally:
                await host.events.close()
        finally:
            await store.close()
            await objects.close()


def _sections(settings: Settings, applications: Iterable[Application]) -> list[BaseModel]:
    """The settings of each application. Raises one `BadSettings` for the problems of all."""
    found: list[BaseModel] = []
    problems: list[str] = []
    for application in applications:
        try:
            found.append(settings.section(application.name, application.settings or NoSettings))
        except BadSettings as error:
            problems += error.problems
    if problems:
        raise BadSettings(problems)
    return found


def open_vault(settings: Settings, secret: Secret) -> Objects:
    """The object store that the settings name."""
    address = parse_objects_address(settings.objects)
    options: dict[str, Any] = {}
    if address.kind == "dir":
        options = {"secret": secret.key("links"), "url": f"{settings.url or ''}/objects"}
    else:
        given = {"endpoint": settings.objects_endpoint, "region": settings.objects_region}
        options = {name: value for name, value in given.items() if value is not None}
    return open_objects(settings.objects, **options)


def _add_handlers(jobs: Jobs, applications: Iterable[Application], resources: Mapping[str, Resources[Any]]) -> _Declared:
    """Add the handlers of all applications to the queue's; the schedules that each application declares."""
    declared: _Declared = {}
    for application in applications:
        own = application.jobs if isinstance(application.jobs, Jobs | None) else application.jobs(resources[application.name])
        if own is not None:
            jobs.include(own)
        declared[application.name] = (*(() if own is None else own.schedules), *application.schedules)
    return declared


def place_of(store: str) -> str:
    """A store's address in a few words, and whether its last moments may be lost in a power cut."""
    address = parse_address(store)
    if address.kind == "embedded":
        return f"embedded, {address.place}" + (", relaxed durability" if address.durability == "relaxed" else "")
    return f"DynamoDB, {address.place or 'default region'}" if address.kind == "dynamodb" else shown(store)
