"""`Host`: the stores, queue, keys and applications of one process, shared by the HTTP API, the console and the applications."""

from __future__ import annotations

import logging
import os
import time
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, cast

from gateleg.ai import MODEL_TABLES, Account, AsyncModels, ModelSettings
from gateleg.ai.tables import cache_table
from gateleg.errors import GatelegError
from gateleg.host.actions import ACTIONS
from gateleg.host.actions.declared import declared_actions
from gateleg.host.application import Application, check_applications, check_made, tenant_check
from gateleg.host.audit import Audit
from gateleg.host.change_consumers import stream_jobs
from gateleg.host.credentials import Keys, LocalAccess
from gateleg.host.host_secret import SecretMissing
from gateleg.host.lifespans import run_in_own_task
from gateleg.host.live import Hub
from gateleg.host.metrics import HostMetrics
from gateleg.host.migrations import check_deployed_keys, check_migrations, jobs_for_migrations, store_for, tables_for_migrations
from gateleg.host.openid import OpenIdSettings
from gateleg.host.principal import Role
from gateleg.host.queues import QueueStatsCache, RecentJobs, factory_of, further_tables, queue_rules, queue_tables_of
from gateleg.host.resources import Resources
from gateleg.host.search import SearchResults, ToolCatalog, job_subject, search
from gateleg.host.secrets import HOST, SecretNotFound, Secrets
from gateleg.host.sections import NoSettings
from gateleg.host.sessions import Sessions
from gateleg.host.settings import BadSettings, ObjectStore, format_setting
from gateleg.host.tables import TABLES as WEB_TABLES
from gateleg.host.webhooks import Webhooks, webhook_jobs
from gateleg.jobs import AsyncQueue, Jobs
from gateleg.jobs.change_feed import ChangeFeed
from gateleg.jobs.table_streams import stream_table
from gateleg.net import Secret, is_loopback
from gateleg.net.http import GuardedClient
from gateleg.objects import S3Objects, ThreadedObjects, open_objects, parse_objects_address
from gateleg.private_files import make_folder, warn_of_exposure
from gateleg.store import AsyncStore, Metrics, NoAnswer, ServiceFailed, TableMissing, Throttled, TimedOut
from gateleg.store.addresses import parse_address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from gateleg.host.actions import Action
    from gateleg.host.application import OfferedTool, SearchHit
    from gateleg.host.openid_provider import OpenIdProvider
    from gateleg.host.principal import Principal
    from gateleg.host.settings import Settings
    from gateleg.jobs import Job, QueueSettings
    from gateleg.jobs.tables import ArchivedJob, TableNames
    from gateleg.model import Table
    from gateleg.objects import AsyncObjects, Objects

__all__ = ["Host"]

_log = logging.getLogger("gateleg.web")

#: Every request reads a key or a session; a store that hangs must not hang them all.
_AUTHENTICATION_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True)
class Host:
    """A running host. Each application gets its own `Resources` from it."""

    settings: Settings
    store: AsyncStore
    objects: AsyncObjects
    #: the synchronous object store behind `objects`: it verifies the signed links that it issued
    sync_objects: Objects
    queue: AsyncQueue
    applications: tuple[Application, ...]
    secret: Secret = field(repr=False)
    keys: Keys
    sessions: Sessions
    #: access with the host's token, while no API key exists
    local: LocalAccess
    audit: Audit
    #: the host's own secrets; `secrets.of(name)` has those of an application
    secrets: Secrets
    #: the metrics of this process, in which applications register their own
    measured: HostMetrics
    #: cost of store requests, by access pattern
    costs: Metrics
    #: statistics of all queues, cached and shared by all callers
    queue_stats: QueueStatsCache
    #: the newest jobs, cached and shared by all searches
    recent_jobs: RecentJobs
    #: live events for server-sent event streams and the console
    events: Hub
    #: the object stores of the setting `object_stores`, by name
    stores: Mapping[str, AsyncObjects]
    #: the configured chat and embedding models; each application has its own view in its resources, which bills its usage to it
    models: AsyncModels
    #: HTTP client for URLs that users supply; it refuses addresses that are not public
    outgoing: GuardedClient
    #: the resources of each application, by its name
    resources: Mapping[str, Resources[Any]]
    #: the provider with which people sign in; None if the settings name none
    openid: OpenIdProvider | None = None
    #: the error of each application that failed, by its name; None if the host is not tolerant and raises instead
    failed_applications: dict[str, str] | None = None
    #: the actions that each started application declares, by its name
    actions: dict[str, tuple[Action[Any, Any], ...]] = field(default_factory=dict)
    #: the agent tools of all started applications
    tool_catalog: ToolCatalog = field(default_factory=ToolCatalog)
    #: tables that are declared beside those of its applications, for commands that run without the applications
    declared: tuple[Table, ...] = ()

    @contextmanager
    def isolate_failure(self, application: Application) -> Iterator[None]:
        """Record an error of an application and continue without it, if the host is tolerant. Errors of the store are always raised."""
        try:
            yield
        except (NoAnswer, ServiceFailed, Throttled, TimedOut):
            raise
        except Exception as error:
            if self.failed_applications is None:
                raise
            self.failed_applications[application.name] = f"{type(error).__name__}: {error}"
            # An error of Gateleg names its cause and its fix; a traceback would bury them.
            trace = None if isinstance(error, GatelegError) else error
            _log.error("application %s failed; the host continues without it: %s", application.name, error, exc_info=trace)

    @property
    def tables(self) -> tuple[Table, ...]:
        """All declared tables: the queue's, the host's and the applications'."""
        own = (table for application in self.applications for table in application.tables)
        moved = tables_for_migrations(self.applications)
        consumed = (stream_table,) if any(application.table_streams is not None for application in self.applications) else ()
        queue = (table for tables in self.queue.context.ledgers for table in tables.all)
        return tuple(dict.fromkeys((*queue, *WEB_TABLES, *MODEL_TABLES, *moved, *consumed, *own, *self.declared)))

    def tools_for(self, principal: Principal) -> list[OfferedTool]:
        """The agent tools that a principal may use, of all applications."""
        return self.tool_catalog(principal)

    async def search(self, principal: Principal, text: str) -> SearchResults:
        """Search jobs, names, settings, items, objects and all applications; the hits contain only what the principal may see."""
        return await search(self, principal, text)

    async def subject_of(self, principal: Principal, job: Job | ArchivedJob) -> SearchHit | None:
        """The thing that a job works on, with its title and page, if the application provides it."""
        handler = self.queue.context.jobs.find(job.job_type)
        return await job_subject(self.applications_with_resources, principal, job, None if handler is None else handler.application)

    @property
    def applications_with_resources(self) -> list[tuple[Application, Resources[Any]]]:
        """Each application with its resources."""
        return [(application, self.resources[application.name]) for application in self.applications]

    def tables_for(self, principal: Principal) -> tuple[Table, ...]:
        """The tables that a principal may read: only admins read keys, sessions, the audit log and the cache of model replies."""
        return tuple(table for table in self.tables if table not in (*WEB_TABLES, cache_table) or principal.may(Role.ADMIN))

    @property
    def object_origins(self) -> tuple[str, ...]:
        """The origins of the S3 buckets that browsers download from and upload to."""
        stores = (self.sync_objects, *(one.objects for one in self.stores.values() if isinstance(one, ThreadedObjects)))
        return tuple(dict.fromkeys(store.origin for store in stores if isinstance(store, S3Objects)))

    def webhooks_of(self, application: str) -> Webhooks:
        """The webhooks of an application."""
        return Webhooks(application, self.store, self.queue, self.secrets.of(application), self.outgoing)

    @property
    def environment(self) -> str:
        """A short description of the store: "embedded, ./data" or "DynamoDB, eu-west-1"."""
        return describe_store(self.settings.store)

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
        further: Sequence[TableNames] | None = None,
        visiting: bool = False,
    ) -> AsyncIterator[Host]:
        """Open a host on the configured store and object stores, create missing tables, and close everything at the end of the block.

        A worker passes the settings of its queue as `rules`. With `prepare=False`, tables and schedules stay as they are: a handler
        process relies on its worker, which has prepared them. A `tolerant` host logs an application that fails to start and continues
        without it. `further` are the queue tables that applications bring, by default those of `applications`. A command that is
        `visiting` leaves no data folder behind, and no secret: what it seals is for itself.
        """
        installed = check_applications(applications)
        settings = settings.naming_tables(installed)
        sections = _load_sections(settings, installed)
        model_settings = settings.section("models", ModelSettings)
        openid = _load_openid(settings)
        if not visiting:
            make_folder(settings.data)
        if settings.data.is_dir():
            warn_of_exposure(settings.data)
        secret, costs = _passing_secret(settings) if visiting else settings.load_secret(), Metrics()
        measured = HostMetrics(costs.by_pattern)
        async with AsyncExitStack() as closing:
            sync_objects, stores = open_main_objects(settings, secret), open_further_objects(settings, secret)
            objects = cast("AsyncObjects", ThreadedObjects(sync_objects))
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
            secrets, events = Secrets(store, secret, HOST), Hub(ChangeFeed(store.transport, own=True))
            models = AsyncModels(model_settings.with_keys(await _load_model_keys(model_settings, secrets)), store=store)
            closing.push_async_callback(models.close)
            closing.push_async_callback(events.close)
            store_with_timeout = store.within(_AUTHENTICATION_TIMEOUT_SECONDS)
            check_tenant = tenant_check(zip(installed, sections, strict=True))
            keys = Keys(store_with_timeout, check_tenant)
            brought = further_tables(installed) if further is None else further
            queue = AsyncQueue(store, Jobs(), queue_rules(settings, rules), further=brought)
            measured.observe(queue.context.jobs)
            host = cls(
                settings=settings,
                store=store,
                objects=objects,
                sync_objects=sync_objects,
                queue=queue,
                applications=installed,
                secret=secret,
                keys=keys,
                sessions=Sessions(store_with_timeout, keys, secret, settings, openid),
                local=LocalAccess(keys, secret),
                audit=Audit(store, days=settings.audit_days),
                secrets=secrets,
                measured=measured,
                costs=costs,
                queue_stats=QueueStatsCache(queue),
                recent_jobs=RecentJobs(queue),
                events=events,
                stores=stores,
                models=models,
                outgoing=GuardedClient(settings.guard(), seconds=settings.outgoing_seconds, limit=settings.outgoing_limit),
                resources={},
                openid=_open_provider(openid, settings, secrets, store, check_tenant),
                failed_applications={} if tolerant else None,
            )
            closing.push_async_callback(host.audit.close)
            host = replace(host, resources={one.name: host._resources(one, own) for one, own in zip(installed, sections, strict=True)})
            handlers = host._add_handlers()
            if prepare:
                await check_deployed_keys(installed, host.tables, store)
                for application in installed:
                    with host.isolate_failure(application):
                        await check_migrations(application, store)
                await store.ensure_tables(*host.tables)
                for resources in host.resources.values():
                    await resources.models.settle_lost()
                await queue.warn_of_unread_tables()
                own = {one.name: (*handlers[one.name].schedules, *one.schedules) for one in installed if one.name in handlers}
                await queue.declare_schedules(own)
            yield await host._start(handlers, closing)

    def _resources(self, application: Application, settings: BaseModel) -> Resources[Any]:
        """Build the resources of an application."""
        name = application.name
        return Resources(
            application=name,
            store=store_for(application, self.store),
            objects=self.objects,
            queue=self.queue,
            settings=settings,
            models=self.models.billed_to(Account(name)),
            events=self.events,
            measured=self.measured,
            audit=self.audit,
            secrets=self.secrets.of(name),
            outgoing=self.outgoing,
            webhooks=self.webhooks_of(name),
            stores=self.stores,
            host_data=self.settings.data,
            tools_for=self.tool_catalog,
        )

    def _add_handlers(self) -> dict[str, Jobs]:
        """Register the job handlers of the host and of all applications with the queue; return those of each application by its name."""
        jobs = self.queue.context.jobs
        jobs.include(webhook_jobs(self.store, self.secrets, self.outgoing))
        jobs.include(jobs_for_migrations(self.applications, self.settings, self.resources))
        jobs.include(stream_jobs(self.applications, self.resources))
        found: dict[str, Jobs] = {}
        for application, resources in self.applications_with_resources:
            with self.isolate_failure(application):
                made = _jobs_of(application, resources)
                tables, further = queue_tables_of(application), [tables.names for tables in self.queue.context.ledgers[1:]]
                factory = factory_of(self.settings, application, tables=tables, further=further)
                jobs.include(made, factory, application=application.name, tables=tables)
                found[application.name] = made
        return found

    async def _start(self, handlers: Mapping[str, Jobs], closing: AsyncExitStack) -> Host:
        """Start the lifespans of the applications, which end with `closing`; return the host without the applications that failed."""
        failed_applications = {} if self.failed_applications is None else self.failed_applications
        for application, resources in self.applications_with_resources:
            if application.lifespan is not None and application.name not in failed_applications:
                with self.isolate_failure(application):
                    block = check_made(application, "lifespan", application.lifespan(resources), AbstractAsyncContextManager)
                    await closing.enter_async_context(run_in_own_task(block))
            if application.name not in failed_applications:
                with self.isolate_failure(application):
                    self.actions[application.name] = declared_actions(application, resources)
        for name in failed_applications:
            self.queue.context.jobs.exclude(handlers.get(name, Jobs()))
        started = replace(self, applications=tuple(one for one in self.applications if one.name not in failed_applications))
        self.tool_catalog.applications.extend(started.applications_with_resources)
        for name, actions in {"gateleg": ACTIONS, **self.actions}.items():
            self.tool_catalog.actions.extend(action.offered_by(started, name) for action in actions if action.tool)
        return started


def _passing_secret(settings: Settings) -> Secret:
    """The secret of the data folder if it has one, else one that ends with the process."""
    try:
        return settings.load_secret(make=False)
    except SecretMissing:
        return Secret(os.urandom(32))


def _jobs_of(application: Application, resources: Resources[Any]) -> Jobs:
    """The handlers of an application."""
    if isinstance(application.jobs, Jobs | None):
        return application.jobs or Jobs()
    return cast("Jobs", check_made(application, "jobs", application.jobs(resources), Jobs))


def _load_sections(settings: Settings, applications: Iterable[Application]) -> list[BaseModel]:
    """The typed settings of each application. Raises one `BadSettings` with the problems of all."""
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


def _load_openid(settings: Settings) -> OpenIdSettings | None:
    """How people sign in; None if they cannot. Raises `BadSettings`."""
    openid = settings.section("oidc", OpenIdSettings)
    if openid.issuer is None:
        return None
    if settings.url is None and not is_loopback(settings.host):
        raise BadSettings(["url is not set, but [oidc] needs it: the provider sends people back to this address"])
    return openid


def _open_provider(
    openid: OpenIdSettings | None, settings: Settings, secrets: Secrets, store: AsyncStore, check_tenant: Callable[[str], None]
) -> OpenIdProvider | None:
    """The provider with which people sign in. Its module loads authlib, which most hosts do not need."""
    if openid is None:
        return None
    from gateleg.host.openid_provider import open_provider

    return open_provider(openid, settings, secrets, now=store.setup.now, ticks=store.setup.ticks, check_tenant=check_tenant)


async def _load_model_keys(settings: ModelSettings, secrets: Secrets) -> dict[str, str]:
    """The API keys of model providers that are stored as secrets. A missing key is an error of the first call that needs it."""
    found: dict[str, str] = {}
    for place, name in settings.secrets.items():
        # A store without tables has no secrets yet.
        with suppress(SecretNotFound, TableMissing):
            found[place] = await secrets.get(name)
    return found


def open_main_objects(settings: Settings, secret: Secret) -> Objects:
    """Open the object store of the setting `objects`."""
    main = ObjectStore(address=settings.objects, endpoint=settings.objects_endpoint, region=settings.objects_region)
    return _open_object_store(main, secret.key("links"), f"{settings.url or ''}/objects")


def open_further_objects(settings: Settings, secret: Secret) -> dict[str, AsyncObjects]:
    """Open the object stores of the setting `object_stores`. The host serves no signed links to those in folders."""
    opened = {name: _open_object_store(one, secret.key(f"links:{name}"), "") for name, one in settings.object_stores.items()}
    return {name: cast("AsyncObjects", ThreadedObjects(one)) for name, one in opened.items()}


def _open_object_store(store: ObjectStore, key: bytes, url: str) -> Objects:
    if parse_objects_address(store.address).kind == "dir":
        return open_objects(store.address, secret=key, url=url)
    given = {"endpoint": store.endpoint, "region": store.region}
    return open_objects(store.address, **{name: value for name, value in given.items() if value is not None})


def settings_only_resources(application: Application, settings: Settings) -> Resources[Any]:
    """Resources with only the settings of an application: enough to list its job types and routes, not to run them."""
    own = settings.section(application.name, application.settings or NoSettings)
    absent: dict[str, Any] = dict.fromkeys(one.name for one in fields(Resources) if one.init)
    present = {"application": application.name, "settings": own, "host_data": settings.data, "measured": HostMetrics(), "state": {}}
    return Resources(**{**absent, **present})


def describe_store(store: str) -> str:
    """A short description of a store's address, which mentions relaxed durability."""
    address = parse_address(store)
    if address.kind == "embedded":
        return f"embedded, {address.place}" + (", relaxed durability" if address.durability == "relaxed" else "")
    return f"DynamoDB, {address.place or 'default region'}" if address.kind == "dynamodb" else format_setting(store)
