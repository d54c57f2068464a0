"""One search for the API, the console and the command line, each hit only for those who may see it.

It finds jobs, pages, applications, job types, queues, tables, settings, items by key, objects by the beginning of their key, and what
applications find themselves. All sources are asked at once, each for a limited time; one that fails is named in the result.

The subject of a job, from the application of its type, and the catalog of agent tools.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode
from uuid import UUID

from gateleg.ai import ModelSettings
from gateleg.host.application import OfferedTool, SearchHit
from gateleg.host.item_keys import item_address, item_label, key_questions, key_text, table_address
from gateleg.host.principal import Role, is_tenant_admin
from gateleg.host.queues import NEWEST_JOBS, sees_job
from gateleg.jobs import JobMissing, JobUnreadable
from gateleg.jobs.monitor import last_failure
from gateleg.store import TableMissing
from gateleg.store.flow import Request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from gateleg.host.application import Application
    from gateleg.host.host import Host
    from gateleg.host.item_keys import KeyQuestion
    from gateleg.host.principal import Principal
    from gateleg.host.resources import Resources
    from gateleg.jobs import Job
    from gateleg.jobs.tables import ArchivedJob
    from gateleg.model import Item
    from gateleg.store.flow import Flow

    ApplicationsWithResources = Sequence[tuple[Application, Resources[Any]]]

__all__ = ["MAX_SEARCH_CHARACTERS", "SearchResults", "hit_fields", "search"]

_log = logging.getLogger("gateleg.web")
#: A source that takes longer is left out.
_TIMEOUT_SECONDS = 5.0
#: Longer texts are not searched for.
MAX_SEARCH_CHARACTERS = 500
#: Shorter texts are compared with names only: as a part of a text, or as the beginning of a key, they would match nearly everything.
_MIN_CHARACTERS = 3
#: The maximum number of hits of each source.
_MAX_HITS = 20
#: The maximum number of keys that are looked up, and how many items of a partition are shown.
_MAX_KEYS = 100
_ITEMS_OF_A_PARTITION = 3
#: Pages show ids by their first 8 characters.
_SHORT_ID = 8

#: The host's own pages, for viewers.
PAGES = (
    SearchHit("Overview", "/", "Page", icon="space_dashboard"),
    SearchHit("Jobs", "/jobs", "Page", icon="checklist"),
    SearchHit("Tables", "/tables", "Page", icon="table_chart"),
    SearchHit("Migrations", "/migrations", "Page", icon="moving"),
    SearchHit("Objects", "/objects", "Page", icon="folder_open"),
    SearchHit("Settings", "/settings", "Page", icon="tune"),
    SearchHit("Queues", "/jobs/queues", "Page", icon="checklist"),
    SearchHit("Workers", "/jobs/workers", "Page", icon="checklist"),
    SearchHit("Schedules", "/jobs/schedules", "Page", icon="checklist"),
    SearchHit("Failed", "/jobs/dead", "Page", icon="checklist"),
    SearchHit("Failed changes", "/jobs/changes", "Page", icon="checklist"),
    SearchHit("Archive", "/jobs/archive", "Page", icon="checklist"),
)
#: For admins of a tenant.
TENANT_PAGE = SearchHit("Your tenant", "/tenant", "Page", icon="domain")


def hit_fields(hit: SearchHit) -> dict[str, str | bool]:
    """A hit as all doors write it in JSON."""
    return asdict(hit) | {"icon": hit.icon or ""}


@dataclass(frozen=True)
class SearchResults:
    """What a search has found, best first, and the sources that failed or took too long."""

    hits: tuple[SearchHit, ...] = ()
    skipped: tuple[str, ...] = ()

    @property
    def exact(self) -> SearchHit | None:
        """The only hit that the text names exactly."""
        named = [hit for hit in self.hits if hit.exact]
        return named[0] if len(named) == 1 else None


async def search(host: Host, principal: Principal, text: str) -> SearchResults:
    """Search everything that a principal may see."""
    text = text.strip()
    if not text or len(text) > MAX_SEARCH_CHARACTERS:
        return SearchResults()
    sources: list[tuple[str, Callable[[], Awaitable[Iterable[SearchHit]]]]] = [("jobs", partial(_jobs_by_id, host, principal, text))]
    sources.append(("names", partial(_names, host, principal, text)))
    sources += [
        (application.name, partial(_own_search, application, resources, principal, text))
        for application, resources in host.applications_with_resources
        if application.search is not None
    ]
    sources.append(("recent jobs", partial(_recent_jobs, host, principal, text)))
    if principal.may(Role.VIEWER):
        sources.append(("job lists", partial(_job_lists, host, text)))
        sources.append(("items", partial(_items, host, principal, text)))
        sources.append(("objects", partial(_objects, host, text)))
    answers = await asyncio.gather(*(_answer(name, ask) for name, ask in sources))
    hits = {(hit.kind, hit.title, hit.href): hit for answer in reversed(answers) for hit in reversed(answer or ())}
    return SearchResults(
        tuple(reversed(hits.values())), tuple(name for (name, _), answer in zip(sources, answers, strict=True) if answer is None)
    )


async def _answer(name: str, ask: Callable[[], Awaitable[Iterable[SearchHit]]]) -> list[SearchHit] | None:
    """The hits of a source; None if it fails or takes too long, which is logged."""
    try:
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            return list(await ask())
    except TableMissing:
        # A store that lacks a table has nothing in it.
        return []
    except Exception:
        _log.exception("search in %s failed", name)
        return None


async def _own_search(application: Application, resources: Resources[Any], principal: Principal, text: str) -> list[SearchHit]:
    assert application.search is not None
    hits = await application.search(resources, principal, text)
    return [replace(hit, application=application.name, icon=hit.icon or application.icon, exact=False) for hit in hits]


async def _names(host: Host, principal: Principal, text: str) -> list[SearchHit]:
    return matching(named_places(host, principal), text)


def named_places(host: Host, principal: Principal) -> list[SearchHit]:
    """All pages, applications, job types, queues, tables and settings that the caller may open."""
    applications = [
        SearchHit(one.title, f"/{one.name}", "Application", one.about, one.icon, one.name)
        for one in host.applications
        if one.pages is not None
    ]
    own = [TENANT_PAGE] if is_tenant_admin(principal, host.settings.tenant_admin_group) else []
    if not principal.may(Role.VIEWER):
        return [*applications, *own]
    handlers = list(host.queue.context.jobs)
    return [
        *PAGES,
        *own,
        *applications,
        *(SearchHit(one.job_type, _jobs_address(type=one.job_type), "Job type", icon="checklist") for one in handlers),
        *(SearchHit(name, _jobs_address(queue=name), "Queue", icon="reorder") for name in sorted({one.queue for one in handlers})),
        *(SearchHit(table.name, table_address(table.name), "Table", icon="table_chart") for table in host.tables_for(principal)),
        *_settings(host),
    ]


def _settings(host: Host) -> list[SearchHit]:
    """The settings of the host, of the models and of the applications, without their values."""
    found = [(name, one.description) for name, one in type(host.settings).model_fields.items()]
    sections = {"models": ModelSettings} | {one.name: one.settings for one in host.applications if one.settings is not None}
    found += [(f"{section}.{name}", one.description) for section, model in sections.items() for name, one in model.model_fields.items()]
    return [SearchHit(name, "/settings?tab=configuration", "Setting", about or "", "tune") for name, about in found]


def matching(places: Iterable[SearchHit], text: str) -> list[SearchHit]:
    """The places whose name contains all words of a text; those that start with it come first."""
    words, start = text.lower().split(), text.lower().strip()
    found = [
        # Settings have names such as `tables`, by which people mean the page.
        replace(place, exact=place.title.lower() == start and place.kind != "Setting")
        for place in places
        if all(word in place.title.lower() for word in words)
    ]
    return sorted(found, key=lambda place: (not place.title.lower().startswith(start), len(place.title)))


def _jobs_address(**filters: str) -> str:
    return f"/jobs?{urlencode(sorted(filters.items()))}"


def uuid_of(text: str) -> UUID | None:
    """The UUID in a text, if it is one."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None


async def _jobs_by_id(host: Host, principal: Principal, text: str) -> list[SearchHit]:
    """The job with this id, in the queue or in the archive."""
    job_id = uuid_of(text)
    if job_id is None:
        return []
    try:
        job = await host.queue.get_or_archived(job_id)
    except (JobMissing, JobUnreadable):
        return []
    place = await _job_place(host, principal, job)
    return [] if place is None else [replace(_job_hit(job, place), exact=True)]


async def _job_place(host: Host, principal: Principal, job: Job | ArchivedJob) -> str | None:
    """The page on which the caller may see a job; None if there is none."""
    if principal.may(Role.VIEWER):
        return f"/jobs/{job.job_id}"
    handler = host.queue.context.jobs.find(job.job_type)
    for application, resources in host.applications_with_resources:
        if handler is not None and application.name == handler.application and await sees_job(application, resources, principal, job):
            return f"/{application.name}/-/jobs/{job.job_id}"
    return None


def _job_hit(job: Job | ArchivedJob, place: str) -> SearchHit:
    failure = last_failure(job)
    error = "" if failure is None else next(iter(failure.message.strip().splitlines()), "")
    facts = (str(job.status).lower(), job.subject, error[:200], str(job.job_id)[:_SHORT_ID])
    return SearchHit(job.job_type, place, "Job", " · ".join(fact for fact in facts if fact), "checklist")


async def _recent_jobs(host: Host, principal: Principal, text: str) -> list[SearchHit]:
    """The newest jobs with a shortened id, a subject, a tag or an error; older ones would need a scan of the table.

    Members find only those that they submitted.
    """
    if len(text) < _MIN_CHARACTERS or uuid_of(text) is not None:
        return []
    if principal.may(Role.VIEWER):
        jobs = await host.recent_jobs.read()
    else:
        jobs = tuple(await host.queue.own_jobs_page(principal.name, principal.tenant, limit=NEWEST_JOBS))
    hits: list[SearchHit] = []
    for job in jobs:
        start = is_short_id(text) and str(job.job_id).startswith(text.lower())
        if (start or says(job, text)) and (place := await _job_place(host, principal, job)) is not None:
            hits.append(replace(_job_hit(job, place), exact=start))
    return hits[:_MAX_HITS]


def is_short_id(text: str) -> bool:
    """Whether a text may be the beginning of a job's id."""
    return len(text) >= _SHORT_ID and all(character in "0123456789abcdef-" for character in text.lower())


def says(job: Job, text: str) -> bool:
    """Whether the subject, a tag or the error of a job contains a text."""
    failure = last_failure(job)
    parts = (job.subject, *(job.tags or ()), *(() if failure is None else (failure.kind, failure.message)))
    return any(text.lower() in part.lower() for part in parts if part)


async def _job_lists(host: Host, text: str) -> list[SearchHit]:
    """The lists of all jobs about a subject, of a worker or of a type that has no handler, however old, by the indexes on them."""
    found: list[SearchHit] = []
    if host.queue.context.jobs.find(text) is None and (await host.queue.jobs_page(job_type=text, internal=True, limit=1)).items:
        found.append(SearchHit(text, _jobs_address(type=text), "Jobs of type", icon="checklist"))
    if (await host.queue.jobs_page(subject=text, internal=True, limit=1)).items:
        found.append(SearchHit(text, _jobs_address(subject=text), "Jobs about", icon="checklist"))
    if (await host.queue.jobs_page(worker=text, internal=True, limit=1)).items:
        found.append(SearchHit(text, _jobs_address(worker=text), "Jobs of", icon="checklist"))
    return found


async def _items(host: Host, principal: Principal, text: str) -> list[SearchHit]:
    """The items whose key, or the component of whose hash attribute, is a text. Jobs and their records are found as jobs."""
    queue = {table for tables in host.queue.context.ledgers for table in tables.all}
    asked = [question for table in host.tables_for(principal) if table not in queue for question in key_questions(table, text)]
    answers = await asyncio.gather(*(_read_items(host, question) for question in asked[:_MAX_KEYS]))
    return [hit for hits in answers for hit in hits][:_MAX_HITS]


async def _read_items(host: Host, question: KeyQuestion) -> list[SearchHit]:
    table = question.table
    try:
        found: list[Item] = await host.store.drive(_query(host.store.setup.name_of(table), question, f"{table.name} search"))
    except TableMissing:
        # A command looks into a store as it is, which may lack the tables of an application.
        return []
    return [
        SearchHit(
            item_label(table, table.spec_for(item), item),
            item_address(table.name, key_text(table, item)),
            "Item",
            table.name,
            "table_rows",
            exact=question.is_whole,
        )
        for item in found
    ]


def _query(name: str, question: KeyQuestion, label: str) -> Flow[list[Item]]:
    """The item with a key, or the first ones of a partition."""
    names = {f"#k{place}": attribute for place, attribute in enumerate(question.key)}
    payload = {
        "TableName": name,
        "KeyConditionExpression": " AND ".join(f"{alias} = :{alias[1:]}" for alias in names),
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": {f":{alias[1:]}": question.key[attribute] for alias, attribute in names.items()},
        "Limit": _ITEMS_OF_A_PARTITION,
    }
    response = yield Request("Query", payload, label)
    items: list[Item] = response["Items"]
    return items


async def _objects(host: Host, text: str) -> list[SearchHit]:
    """The objects whose key begins with a text."""
    if len(text) < _MIN_CHARACTERS:
        return []
    page = await host.objects.list(text, limit=_MAX_HITS)
    return [
        SearchHit(entry.key, f"/objects?{urlencode({'key': entry.key})}", "Object", icon="draft", exact=entry.key == text)
        for entry in page.objects
    ]


async def job_subject(
    applications: ApplicationsWithResources, principal: Principal, job: Job | ArchivedJob, application: str | None
) -> SearchHit | None:
    """The thing that a job works on, from the application of its type; None if the application fails or times out, which is logged."""
    for one, resources in applications:
        if one.name != application or one.job_subject is None or job.subject is None:
            continue
        try:
            async with asyncio.timeout(_TIMEOUT_SECONDS):
                return await one.job_subject(resources, principal, job)
        except Exception:
            _log.exception("application %s failed to look up the subject of job %s", one.name, job.job_id)
    return None


@dataclass
class ToolCatalog:
    """The agent tools of a host: those of its applications, and all actions. The host fills it once all applications have started."""

    applications: list[tuple[Application, Resources[Any]]] = field(default_factory=list)
    #: actions as tools, for callers with their roles
    actions: list[OfferedTool] = field(default_factory=list)

    def __call__(self, principal: Principal) -> list[OfferedTool]:
        """The tools that a principal may use."""
        offered = [
            OfferedTool(f"{application.name}.{tool.name}", application.name, tool)
            for application, resources in self.applications
            if application.tools is not None
            for tool in application.tools(resources)
        ]
        return [entry for entry in (*offered, *self.actions) if principal.may(entry.tool.role)]
