"""`Host`: everything that the HTTP surfaces, the console and the applications work with, opened once for a process."""

from __future__ import annotations

import logging
import time
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

from gateleg.ai import MODEL_TABLES, Account, AsyncModels, ModelSettings, cache_table
from gateleg.jobs import LAYOUTS, AsyncQueue, Jobs, stream_table
from gateleg.net.http import GuardedClient
from gateleg.objects import S3Objects, ThreadedObjects, open_objects, parse_objects_address
from gateleg.objects.private import make_private
from gateleg.store import AsyncStore, Metrics, NoAnswer, ServiceFailed, TableMissing, Throttled, TimedOut
from gateleg.store.addresses import parse_address
from gateleg.web.application import Application, checked
from gateleg.web.audit import Audit
from gateleg.web.events import Hub
from gateleg.web.handler_processes import factory_of
from gateleg.web.keys import Keys
from gateleg.web.lifespans import held
from gateleg.web.local import LocalAccess
from gateleg.web.migrating import check_migrations, jobs_for_migrations, store_for, tables_for_migrations
from gateleg.web.principal import Role
from gateleg.web.queue_rules import queue_rules
from gateleg.web.queue_stats import QueueStatsCache
from gateleg.web.resources import Resources
from gateleg.web.searching import Hit, Offering, job_subject, search_applications
from gateleg.web.secret_store import HOST, SecretNotFound, Secrets
from gateleg.web.sections import NoSettings
from gateleg.web.sessions import Sessions
from gateleg.web.settings import BadSettings, ObjectStore, shown
from gateleg.web.stream_jobs import stream_jobs
from gateleg.web.tables import TABLES as WEB_TABLES
from gateleg.web.webhooks import Webhooks
from gateleg.web.webhooks.delivering import webhook_jobs

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping

    from pydantic import BaseModel

    from gateleg.jobs import ArchivedJob, Job, QueueSettings
    from gateleg.model import Table
    from gateleg.net import Secret
    from gateleg.objects import AsyncObjects, Objects
    from gateleg.web.contributions import Found, OfferedTool
    from gateleg.web.principal import Principal
    from gateleg.web.settings import Settings

__all__ = ["Host"]

_log = logging.getLogger("gateleg.web")

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
    #: the host's own secrets; `secrets.of(name)` are those of an application
    secrets: Secrets
    #: what requests to the store have cost, by access pattern
    costs: Metrics
    #: how the queues do, read once for everybody
    pulse: QueueStatsCache
    #: what changes, for whoever follows it
    events: Hub
    #: further object stores of the settings, by name
    stores: Mapping[str, AsyncObjects]
    #: chat and embedding models as the settings have them; each application's own in its resources
    models: AsyncModels
    #: sends requests to addresses that others have given, to public ones only
    outgoing: GuardedClient
    #: what each application works with, by its name
    resources: Mapping[str, Resources[Any]]
    #: applications that could not be started or served, with the reason; None where that is an error of whoever opened the host
    left_out: dict[str, str] | None = None
    #: the tools of the applications that were started
    offering: Offering = field(default_factory=Offering)

    @contextmanager
    def leaving_out(self, application: Application) -> Iterator[None]:
        """Go on without an application that fails, where the host does so. A store that is away is not its fault."""
        try:
            yield
        except (NoAnswer, ServiceFailed, Throttled, TimedOut):
            raise
        except Exception as error:
            if self.left_out is None:
                raise
            self.left_out[application.name] = f"{type(error).__name__}: {error}"
            _log.exception("The application %s fails, and is left out.", application.name)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All declared tables: those of the queue, of the host, and of the applications."""
        own = (table for application in self.applications for table in application.tables)
        moved = tables_for_migrations(self.applications)
        consumed = (stream_table,) if any(application.table_streams is not None for application in self.applications) else ()
        return tuple(dict.fromkeys((*self.queue.tables.all, *WEB_TABLES, *MODEL_TABLES, *moved, *consumed, *own)))

    def tools_for(self, principal: Principal) -> list[OfferedTool]:
        """The tools of all applications that somebody may use, for models that act on their behalf."""
        return self.offering(principal)

    async def search(self, principal: Principal, text: str) -> list[Hit]:
        """What the applications find for somebody."""
        return await search_applications(self.plugged, principal, text)

    async def subject_of(self, principal: Principal, job: Job | ArchivedJob) -> Found | None:
        """What a job is about, with its name and its page, where its application says so."""
        handler = self.queue.context.jobs.find(job.job_type)
        return await job_subject(self.plugged, principal, job, None if handler is None else handler.application)

    @property
    def plugged(self) -> list[tuple[Application, Resources[Any]]]:
        """The applications, each with what it works with."""
        return [(application, self.resources[application.name]) for application in self.applications]

    def tables_for(self, principal: Principal) -> tuple[Table, ...]:
        """The tables that somebody may look into: keys, sessions, the audit log and what models answered are for admins."""
        return tuple(table for table in self.tables if table not in (*WEB_TABLES, cache_table) or principal.may(Role.ADMIN))

    @property
    def object_origins(self) -> tuple[str, ...]:
        """The origins of the buckets that browsers read from and send to."""
        stores = (self.vault, *(one.objects for one in self.stores.values() if isinstance(one, ThreadedObjects)))
        return tuple(dict.fromkeys(store.origin for store in stores if isinstance(store, S3Objects)))

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
        rules: QueueSettings | None = None,
        prepare: bool = True,
        tolerant: bool = False,
    ) -> AsyncIterator[Host]:
        """A host on the store and the objects that the settings name, with all tables there; closed at the end of the block.

        `rules` are those of the queue, for a worker. Without `prepare`, tables and schedules are left as they are: the process of a
        handler has a worker above it that has seen to them. A `tolerant` host goes on without an application that fails to start, and
        logs it.
        """
        installed = checked(applications)
        sections = _sections(settings, installed)
        model_settings = settings.section("models", ModelSettings)
        make_private(settings.data)
        secret, costs = settings.load_secret(), Metrics()
        async with AsyncExitStack() as closing:
            vault, stores = open_vault(settings, secret), open_stores(settings, secret)
            objects = cast("AsyncObjects", ThreadedObjects(vault))
            for opened in (objects, *stores.values()):
                closing.push_async_callback(opened.close)
            store = AsyncStore.connect(
                settings.store,
                settings.prefix,
                table_names=settings.table_names,
                cursor_key=secret.key("cursors"),
                hooks=[costs],
                clock=clock,
                ticks=ticks,
            )
            closing.push_async_callback(store.close)
            secrets, events = Secrets(store, secret, HOST), Hub()
            models = AsyncModels(model_settings.with_keys(await _model_keys(model_settings, secrets)), store=store)
            closing.push_async_callback(models.close)
            closing.push_async_callback(events.close)
            # Every request waits for these: a store that hangs must not hang them all.
            prompt = store.within(_RECOGNISED)
            keys, queue = Keys(prompt), AsyncQueue(store, Jobs(), queue_rules(settings, rules), tables=LAYOUTS[settings.queue_layout])
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
                audit=Audit(store, days=settings.audit_days),
                secrets=secrets,
                costs=costs,
                pulse=QueueStatsCache(queue),
                events=events,
                stores=stores,
                models=models,
                outgoing=GuardedClient(settings.guard(), seconds=settings.outgoing_seconds, limit=settings.outgoing_limit),
                resources={},
                left_out={} if tolerant else None,
            )
            host = replace(host, resources={one.name: host._resources(one, own) for one, own in zip(installed, sections, strict=True)})
            handlers = host._add_handlers()
            if prepare:
                for application in installed:
                    with host.leaving_out(application):
                        await check_migrations(application, store)
                await store.ensure_tables(*host.tables)
                await queue.warn_of_other_tables()
                own = {one.name: (*handlers[one.name].schedules, *one.schedules) for one in installed if one.name in handlers}
                await queue.declare_schedules(own)
            yield await host._start(handlers, closing)

    def _resources(self, application: Application, settings: BaseModel) -> Resources[Any]:
        """What an application works with."""
        name = application.name
        return Resources(
            application=name,
            store=store_for(application, self.store),
            objects=self.objects,
            queue=self.queue,
            settings=settings,
            models=self.models.billed_to(Account(name)),
            events=self.events,
            audit=self.audit,
            secrets=self.secrets.of(name),
            outgoing=self.outgoing,
            webhooks=Webhooks(name, self.store, self.queue, self.secrets.of(name), self.outgoing.guard),
            stores=self.stores,
            host_data=self.settings.data,
            tools_for=self.offering,
        )

    def _add_handlers(self) -> dict[str, Jobs]:
        """Give the queue the handlers of the host and of all applications; those of each application, by its name."""
        jobs = self.queue.context.jobs
        jobs.include(webhook_jobs(self.store, self.secrets, self.outgoing))
        jobs.include(jobs_for_migrations(self.applications, self.settings, self.resources))
        jobs.include(stream_jobs(self.applications, self.resources))
        found: dict[str, Jobs] = {}
        for application, resources in self.plugged:
            with self.leaving_out(application):
                made = application.jobs if isinstance(application.jobs, Jobs | None) else application.jobs(resources)
                jobs.include(made or Jobs(), factory_of(self.settings, application), application=application.name)
                found[application.name] = made or Jobs()
        return found

    async def _start(self, handlers: Mapping[str, Jobs], closing: AsyncExitStack) -> Host:
        """Run the lifespans of the applications until all is closed; the host without those that have failed so far."""
        left_out = {} if self.left_out is None else self.left_out
        for application, resources in self.plugged:
            if application.lifespan is not None and application.name not in left_out:
                with self.leaving_out(application):
                    await closing.enter_async_context(held(application.lifespan(resources)))
        for name in left_out:
            self.queue.context.jobs.exclude(handlers.get(name, Jobs()))
        started = replace(self, applications=tuple(one for one in self.applications if one.name not in left_out))
        self.offering.plugged.extend(started.plugged)
        return started


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


async def _model_keys(settings: ModelSettings, secrets: Secrets) -> dict[str, str]:
    """The keys of providers that are kept as secrets. One that is missing is an error of the call that needs it."""
    found: dict[str, str] = {}
    for place, name in settings.secrets.items():
        # A store without tables has no secrets yet.
        with suppress(SecretNotFound, TableMissing):
            found[place] = await secrets.get(name)
    return found


def open_vault(settings: Settings, secret: Secret) -> Objects:
    """The object store that the settings name."""
    main = ObjectStore(address=settings.objects, endpoint=settings.objects_endpoint, region=settings.objects_region)
    return _opened(main, secret.key("links"), f"{settings.url or ''}/objects")


def open_stores(settings: Settings, secret: Secret) -> dict[str, AsyncObjects]:
    """The further object stores of the settings. Links to those in folders are not served: read them through the store."""
    opened = {name: _opened(one, secret.key(f"links:{name}"), "") for name, one in settings.object_stores.items()}
    return {name: cast("AsyncObjects", ThreadedObjects(one)) for name, one in opened.items()}


def _opened(store: ObjectStore, key: bytes, url: str) -> Objects:
    if parse_objects_address(store.address).kind == "dir":
        return open_objects(store.address, secret=key, url=url)
    given = {"endpoint": store.endpoint, "region": store.region}
    return open_objects(store.address, **{name: value for name, value in given.items() if value is not None})


def unopened_resources(application: Application, settings: Settings) -> Resources[Any]:
    """Resources with the settings of an application and nothing else, for who asks for its job types and runs none."""
    own = settings.section(application.name, application.settings or NoSettings)
    absent: dict[str, Any] = dict.fromkeys(one.name for one in fields(Resources) if one.init)
    return Resources(**{**absent, "application": application.name, "settings": own, "host_data": settings.data, "state": {}})


def place_of(store: str) -> str:
    """A store's address in a few words, and whether its last moments may be lost in a power cut."""
    address = parse_address(store)
    if address.kind == "embedded":
        return f"embedded, {address.place}" + (", relaxed durability" if address.durability == "relaxed" else "")
    return f"DynamoDB, {address.place or 'default region'}" if address.kind == "dynamodb" else shown(store)
