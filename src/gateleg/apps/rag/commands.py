"""`gateleg rag`: add files to a collection, search it and ask questions, without a server."""

import asyncio
import textwrap
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gateleg.commands import (
    ConfigOption,
    DataOption,
    JsonOption,
    Steps,
    StoreOption,
    fail,
    open_resources,
    print_json,
    require_packages,
    settings_from,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine

    from gateleg.apps.rag.ingesting.job_types import ReembedResult
    from gateleg.apps.rag.ingesting.local_files import AddResult, LocalFile
    from gateleg.apps.rag.searching.results import SearchHit
    from gateleg.apps.rag.searching.service import SearchScope
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources
    from gateleg.host.settings import Settings

T = TypeVar("T")
app = typer.Typer(help="Document collections: add, search, ask.", no_args_is_help=True, add_completion=False)

_STEPS = {"sending": "Sending the files", "ingesting": "Parsing, chunking and embedding"}
Repository = Annotated[str, typer.Option("--repository", "-r", help="The id of the repository.")]
AnyRepository = Annotated[str | None, typer.Option("--repository", "-r", help="The id of a repository; by default, all repositories.")]
AnyCollection = Annotated[str | None, typer.Option("--collection", help="The name or id of a collection of the repository.")]


@app.command()
def add(
    paths: Annotated[list[Path], typer.Argument(exists=True, help="Files, and folders with all files below them.")],
    repository: Repository = "documents",
    collection: Annotated[
        str | None, typer.Option("--collection", help="The name of the collection; by default, the folder's name.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Ingest files again even if they have not changed.")] = False,
    store: StoreOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Add files to a collection. The repository and the collection are created if they do not exist; unchanged files are skipped."""
    _require()
    from gateleg.apps.rag.ingesting.local_files import find_files

    found = find_files(paths)
    if not found:
        fail(f"there are no files in {', '.join(map(str, paths))}.")
    name = collection or (paths[0] if paths[0].is_dir() else paths[0].parent).resolve().name or "Documents"
    added, problems, by_keywords = _run(_add(found, repository, name, force, settings_from(config, store=store, data=data)))
    for why, files in by_keywords.items():
        typer.echo(f"gateleg: {len(files)} of the files, such as {files[0]}: {why}", err=True)
    for file, why in problems.items():
        typer.echo(f"gateleg: {file}: {why}", err=True)
    done = len(added.jobs) - len(problems.keys() & added.jobs.keys())
    typer.echo(f"{repository}/{name}: {done} added, {len(added.unchanged)} unchanged, {len(problems)} refused")
    if problems:
        raise typer.Exit(1)


async def _add(
    files: "list[LocalFile]", repository: str, collection: str, force: bool, settings: "Settings"
) -> "tuple[AddResult, dict[str, str], dict[str, list[str]]]":
    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.application import application
    from gateleg.apps.rag.ingesting.local_files import add_files, open_or_create
    from gateleg.host import LOCAL

    async with open_resources(application, settings, create=True) as resources:
        caller = Caller(LOCAL, resources.settings.admin_group)
        opened = await open_or_create(resources, caller, repository, collection)
        with Steps(_STEPS) as report:
            added = await add_files(resources, caller, opened, files, force=force, report=lambda done: report("sending", done / len(files)))
            report("ingesting", 0.0)
            problems, by_keywords = await _run_jobs(resources, added, lambda done: report("ingesting", done))
    return added, {**added.refused, **problems}, by_keywords


async def _run_jobs(
    resources: "Resources[RagSettings]", added: "AddResult", report: "Callable[[float], None]"
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Run the jobs of the files until all have ended, beside any other worker.

    Return an error message for each file that failed, and the files that only keywords find, by the reason.
    """
    from gateleg.apps.rag.ingesting.job_failures import failure_message
    from gateleg.jobs import JobStatus, follow_async

    if not added.jobs:
        return {}, {}
    problems: dict[str, str] = {}
    by_keywords: dict[str, list[str]] = {}
    async with _running_worker(resources):
        for done, (name, job_id) in enumerate(added.jobs.items()):
            report(done / len(added.jobs))
            async for _ in follow_async(resources.queue, job_id):
                pass
            job = await resources.queue.get_or_archived(job_id)
            if job.status is not JobStatus.COMPLETED:
                problems[name] = failure_message(job)
            elif job.job_results is not None and (why := job.job_results.value.get("keywords_only")) is not None:
                by_keywords.setdefault(why, []).append(name)
    return problems, by_keywords


@asynccontextmanager
async def _running_worker(resources: "Resources[RagSettings]") -> "AsyncIterator[None]":
    """Run a worker for the ingestion queue within the block."""
    from gateleg.apps.rag.ingesting.job_types import INGESTION_QUEUE
    from gateleg.jobs import Worker

    worker = Worker(resources.queue, queues={INGESTION_QUEUE: 1}, concurrency=4)
    running = asyncio.ensure_future(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await running


@app.command()
def reembed(
    collection: Annotated[str, typer.Argument(help="The name or id of a collection.")],
    model: Annotated[str, typer.Argument(help="The new embedding model, such as local:minilm.")],
    repository: Repository = "documents",
    store: StoreOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Embed a collection with another model. Searches use the old vectors until all new ones are ready."""
    _require()
    done = _run(_reembed(repository, collection, model, settings_from(config, store=store, data=data)))
    if done.outcome == "unchanged":
        typer.echo(f"{repository}/{collection}: already embedded with {model}")
    else:
        typer.echo(f"{repository}/{collection}: {done.chunks:,} chunks of {done.documents:,} documents, {done.embedded:,} embedded")


async def _reembed(repository: str, collection: str, model: str, settings: "Settings") -> "ReembedResult":
    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.application import application
    from gateleg.apps.rag.ingesting.job_failures import failure_message
    from gateleg.apps.rag.ingesting.job_types import ReembedResult
    from gateleg.apps.rag.ingesting.reembedding import start_reembedding
    from gateleg.host import LOCAL
    from gateleg.jobs import Job, JobStatus, follow_async

    async with open_resources(application, settings) as resources:
        caller = Caller(LOCAL, resources.settings.admin_group)
        submitted = await start_reembedding(resources, caller, repository, collection, model)
        with Steps({"embedding": "Embedding the chunks"}) as report:
            async with _running_worker(resources):
                async for update in follow_async(resources.queue, submitted.job_id):
                    progress = update.job.progress if isinstance(update.job, Job) else None
                    report("embedding", progress.fraction if progress is not None else 0.0)
            job = await resources.queue.get_or_archived(submitted.job_id)
            if job.status is not JobStatus.COMPLETED or job.job_results is None:
                fail(f"the collection was not changed: {failure_message(job)}")
    return ReembedResult.model_validate(job.job_results.value)


@app.command()
def search(
    query: Annotated[str, typer.Argument(help="What to look for: words or a question.")],
    repository: AnyRepository = None,
    collection: AnyCollection = None,
    hits: Annotated[int, typer.Option("--hits", "-k", min=1, max=100, help="The number of passages to show.")] = 5,
    mode: Annotated[str, typer.Option(help="hybrid, vector or keyword.")] = "hybrid",
    json: JsonOption = False,
    store: StoreOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Find passages by meaning and by words (hybrid search)."""
    _require()
    found = _run(_search(query, repository, collection, hits, mode, settings_from(config, store=store, data=data)))
    if json:
        print_json([hit.model_dump(mode="json", by_alias=True) for hit in found])
        return
    if not found:
        fail("nothing was found.")
    for number, hit in enumerate(found, start=1):
        typer.echo(f"{number}. {_format_source(hit)}  ({hit.score:.3f})\n   {' '.join(hit.text.split())[:400]}\n")


async def _search(
    query: str, repository: str | None, collection: str | None, hits: int, mode: str, settings: "Settings"
) -> "list[SearchHit]":
    from gateleg.apps.rag.application import application
    from gateleg.apps.rag.searching.requests import SearchRequest
    from gateleg.apps.rag.searching.service import search as search_scopes
    from gateleg.host import LOCAL

    request = SearchRequest.model_validate({"query": query, "topK": hits, "searchMode": mode})
    async with open_resources(application, settings) as resources:
        scopes = await _scopes(resources, repository, collection)
        return (await search_scopes(resources, LOCAL, scopes, request)).hits


@app.command()
def ask(
    question: Annotated[str, typer.Argument(help="A question.")],
    repository: AnyRepository = None,
    collection: AnyCollection = None,
    json: JsonOption = False,
    store: StoreOption = None,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Answer a question from documents, with a citation behind each sentence."""
    _require()
    found = _run(_ask(question, repository, collection, settings_from(config, store=store, data=data)))
    if json:
        print_json(found.model_dump(mode="json", by_alias=True))
        return
    typer.echo(found.text)
    cited = {number for sentence in (*found.sentences, *found.unverified) for number in sentence.citations}
    for number in sorted(cited | set(found.nearest)):
        typer.echo(f"[{number}] {_format_source(found.hits[number - 1])}")
        if number in found.nearest:
            typer.echo(textwrap.indent(textwrap.shorten(found.hits[number - 1].text, 400, placeholder=" ..."), "    "))


async def _ask(question: str, repository: str | None, collection: str | None, settings: "Settings") -> Any:
    from gateleg.apps.rag.answering.answer_stream import AskRequest
    from gateleg.apps.rag.answering.service import ask_once
    from gateleg.apps.rag.application import application
    from gateleg.host import LOCAL

    async with open_resources(application, settings) as resources:
        scopes = await _scopes(resources, repository, collection)
        return await ask_once(resources, LOCAL, scopes, AskRequest(question=question))


async def _scopes(resources: "Resources[RagSettings]", repository: str | None, collection: str | None) -> "list[SearchScope]":
    from gateleg.apps.rag.access import Caller
    from gateleg.apps.rag.repositories import list_repositories
    from gateleg.apps.rag.searching.service import SearchScope
    from gateleg.host import LOCAL

    if repository is not None:
        return [SearchScope(repository, collection)]
    if collection is not None:
        fail("--collection needs --repository.")
    found = await list_repositories(resources.store, Caller(LOCAL, resources.settings.admin_group))
    if not found:
        fail("there are no repositories. Create one with `gateleg rag add FOLDER`.")
    return [SearchScope(one.repository_id) for one in found]


def _format_source(hit: "SearchHit") -> str:
    heading = "" if hit.heading is None else f", {hit.heading}"
    return f"{hit.citation}{heading} [{hit.start}:{hit.end}]"


def _run(work: "Coroutine[Any, Any, T]") -> T:
    """Run a command's coroutine; exit with a message if it raises a known error."""
    from pydantic import ValidationError

    from gateleg.errors import GatelegError

    try:
        return asyncio.run(work)
    except GatelegError as error:
        fail(str(error))
    except ValidationError as error:
        fail("; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors(include_url=False)))


def _require() -> None:
    from gateleg.apps.rag.extra_packages import PACKAGES

    require_packages("rag", *PACKAGES)
