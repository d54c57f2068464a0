"""`gateleg delphi`: analyse the files of a conversation and write its report, without a server."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateleg.apps.delphi.opinions.modes import CHOICE, ORDER_CHOICE, Mode, Order
from gateleg.commands import (
    ConfigOption,
    ObjectsOption,
    Steps,
    StoreOption,
    explaining_bad_settings,
    fail,
    open_resources,
    read_config,
    require_packages,
    settings_from,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gateleg.ai import Models
    from gateleg.apps.delphi.conversations.conversation import Conversation
    from gateleg.apps.delphi.reports.findings import Findings
    from gateleg.apps.delphi.reports.sections import Section
    from gateleg.host.settings import Settings

    Report = Callable[[str, float], None]

app = typer.Typer(help="Opinion maps from votes and comments.", no_args_is_help=True, add_completion=False)

_STEPS = {
    "reading": "Reading the files",
    "votes": "Groups and consensus from the votes",
    "embeddings": "Meaning of the comments",
    "layers": "Topics in layers",
    "map": "Map of the comments",
    "graph": "Neighbours of the comments",
    "names": "Names of the topics",
    "timeline": "Groups over time",
    "writing": "Text of the report",
    "report": "Maps and report",
    "translating": "Translation",
    "printing": "PDF and PNG",
}

_Summary = Annotated[Path | None, typer.Option(help="summary.csv of the export; default: the file of this name beside the votes.")]
_Flags = Annotated[Path | None, typer.Option(help="A CSV file with comment-id, is-meta and moderated, which exports leave out.")]
_Participants = Annotated[Path | None, typer.Option(help="A CSV file with voter-id and moderated; -1 excludes a participant.")]
_Scale = Annotated[
    int | None, typer.Option(min=2, max=100, help="For a spreadsheet: answers are from 1 to this number; 5 for a Likert scale.")
]
_Inverted = Annotated[bool, typer.Option("--inverted", help="Read a vote of -1 as agreement and 1 as disagreement.")]


@app.command()
def run(
    votes: Annotated[
        Path, typer.Argument(help="votes.csv or participants-votes.csv of a Polis export; or a spreadsheet of statements and answers.")
    ],
    comments: Annotated[Path | None, typer.Argument(help="comments.csv of the same export.")] = None,
    out: Annotated[Path, typer.Option(help="The folder to write the report into.")] = Path("report"),
    summary: _Summary = None,
    flags: _Flags = None,
    participants: _Participants = None,
    scale: _Scale = None,
    inverted: _Inverted = False,
    mode: Annotated[Mode, typer.Option(help=CHOICE)] = "improved",
    order: Annotated[Order, typer.Option(help=ORDER_CHOICE)] = "reading",
    replay: Annotated[
        int,
        typer.Option(
            min=0,
            max=10_000,
            help="Exact mode: build the groups over time in this number of updates, such as 200, as if Polis had run throughout.",
        ),
    ] = 0,
    replay_from: Annotated[
        float,
        typer.Option(min=0.0, max=1.0, help="With --replay: the share of the votes that had been cast when Polis restarted, such as 0.8."),
    ] = 0.0,
    topics: Annotated[bool, typer.Option(help="Whether to divide the comments into topics.")] = True,
    embeddings: Annotated[
        str | None, typer.Option(help="The embedding model, such as ollama:bge-m3; default: a local model for English.")
    ] = None,
    chat: Annotated[
        str | None, typer.Option(help="A model that names topics, such as ollama:llama3.2; default: names are made of keywords.")
    ] = None,
    author: Annotated[
        str | None,
        typer.Option(help="A model that chooses which statements the text makes. They are verified, and written from templates."),
    ] = None,
    language: Annotated[
        str, typer.Option(help="Also write the pages in this language, such as de; needs --translator or --author.")
    ] = "en",
    translator: Annotated[str | None, typer.Option(help="A model that translates, such as ollama:llama3.2.")] = None,
    separate: Annotated[
        bool,
        typer.Option(
            "--separate-self-descriptions",
            help="Take comments that seem to describe their authors out of groups and topics, into a section of their own.",
        ),
    ] = False,
    pdf: Annotated[bool, typer.Option("--pdf", help="Also print the report and its summary to PDF; needs Chromium.")] = False,
    png: Annotated[bool, typer.Option("--png", help="Also write the maps as PNG; needs Chromium.")] = False,
) -> None:
    """Analyse a conversation, and write its report, maps and data into a folder. Data is only sent to models that you name."""
    from gateleg.ai import AiError
    from gateleg.apps.delphi.errors import DelphiError
    from gateleg.apps.delphi.extra_packages import PACKAGES

    require_packages("delphi", *PACKAGES)
    if out.exists() and not out.is_dir():
        # Checked now rather than after minutes of work.
        fail(f"{out} cannot be written: it exists and is not a folder.")

    translated_by = _translator_address(language, translator or author)
    if mode != "exact" and (replay or order != "reading"):
        fail("--order and --replay need --mode exact: improved mode does not depend on the order of participants.")
    if replay and order != "reading":
        fail("--replay takes participants in the order of time: omit --order.")
    if replay_from and not replay:
        fail("--replay-from needs --replay: it says where the replay begins.")
    settings: dict[str, object] = {"mode": mode, "order": order, "replay": replay > 0}
    settings |= {"replay_updates": replay, "replay_from": replay_from} if replay else {}

    try:
        with Steps(_STEPS) as report:
            report("reading", 0.0)
            conversation = _read(votes, comments, flags, participants, summary, scale, inverted)
            if separate:
                conversation = _with_self_descriptions_as_meta(conversation, embeddings)
            findings, files = _analyse(conversation, settings, topics, embeddings, chat, author, report)
            files |= _translate(files, language, translated_by, report)
            files |= _print_files(files, pdf, png, report)
        _write(out, files)
    except (DelphiError, AiError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or out} cannot be written: {error.strerror}.")
    _print_summary(findings, out)


def _read(
    table: Path,
    comments: Path | None,
    flags: Path | None,
    participants: Path | None,
    summary: Path | None,
    scale: int | None,
    inverted: bool,
) -> "Conversation":
    """Read the conversation of the files that a command was given."""
    from gateleg.apps.delphi.conversations.files import ConversationFiles, read_conversation

    beside = table.with_name("summary.csv")
    known = summary or (beside if comments is not None and beside.is_file() else None)
    files = ConversationFiles.of(table, comments, flags=flags, participants=participants, summary=known)
    return read_conversation(files, scale=scale, inverted=inverted)


@app.command()
def convert(
    answers: Annotated[
        Path, typer.Argument(help="A spreadsheet (XLSX, ODS, CSV) with one row per person and one column per statement; or any votes.")
    ],
    out: Annotated[Path, typer.Option(help="The folder for votes.csv and comments.csv.")],
    scale: _Scale = None,
    comments: Annotated[Path | None, typer.Option(help="The comments.csv with the texts, if the columns are comment ids.")] = None,
    flags: _Flags = None,
    participants: _Participants = None,
    summary: _Summary = None,
    inverted: _Inverted = False,
    rejected: Annotated[
        bool, typer.Option("--rejected", help="Also write the texts of rejected comments, for moderators; their votes are always written.")
    ] = False,
) -> None:
    """Convert a spreadsheet of statements and answers, or Polis's participants-votes.csv, to votes.csv and comments.csv.

    Moderation, authors and times are kept."""
    from gateleg.apps.delphi.errors import DelphiError
    from gateleg.apps.delphi.extra_packages import PACKAGES

    require_packages("delphi", *PACKAGES)
    from gateleg.apps.delphi.conversations.spreadsheet import as_export
    from gateleg.apps.delphi.reports.sections import number_of

    try:
        conversation = _read(answers, comments, flags, participants, summary, scale, inverted)
        files = as_export(conversation, with_rejected=rejected)
        out.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (out / name).write_text(text, encoding="utf-8")
    except DelphiError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or out} cannot be written: {error.strerror}.")
    hidden = sum(one.moderated == -1 for one in conversation.comments)
    typer.echo(f"{len(conversation.votes):,} answers to {number_of(len(conversation.comments), 'statement')}")
    if hidden:
        texts = "with their texts" if rejected else "without their texts (see --rejected)"
        typer.echo(f"rejected by moderators: {number_of(hidden, 'comment')}, {texts}")
    excluded = f" --participants {out / 'participants.csv'}" if "participants.csv" in files else ""
    typer.echo(f"next: gateleg delphi run {out / 'votes.csv'} {out / 'comments.csv'}{excluded} --out report")


@app.command()
def reprocess(
    conversations: Annotated[list[str] | None, typer.Argument(help="The ids of conversations on a host.")] = None,
    every: Annotated[bool, typer.Option("--all", help="All conversations.")] = False,
    pipeline: Annotated[str, typer.Option("--pipeline", help="The config of the pipelines, as JSON.")] = "{}",
    store: StoreOption = None,
    config: ConfigOption = None,
) -> None:
    """Submit the pipeline again for conversations on a host; a worker runs it. Earlier runs are kept."""
    import asyncio

    from gateleg.apps.delphi.errors import DelphiError
    from gateleg.apps.delphi.extra_packages import PACKAGES
    from gateleg.jobs import JobError

    require_packages("delphi", *PACKAGES)
    if every == bool(conversations):
        fail("name conversations or pass --all, not both.")
    try:
        submitted = asyncio.run(_resubmit(None if every else conversations, read_config(pipeline), settings_from(config, store=store)))
    except (DelphiError, JobError) as error:
        fail(str(error))
    for job_id, name in submitted:
        typer.echo(f"{job_id}  {name}")


@app.command()
def delete(
    conversation: Annotated[str, typer.Argument(help="The id of a conversation on a host.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    store: StoreOption = None,
    objects: ObjectsOption = None,
    config: ConfigOption = None,
) -> None:
    """Delete a conversation on a host with its uploads, comments, votes, runs, results and files. This cannot be undone."""
    import asyncio

    from gateleg.apps.delphi.errors import DelphiError
    from gateleg.apps.delphi.extra_packages import PACKAGES

    require_packages("delphi", *PACKAGES)
    if not yes:
        typer.confirm(f"Delete conversation {conversation!r} and all that belongs to it?", abort=True)
    try:
        deleted = asyncio.run(_delete(conversation, settings_from(config, store=store, objects=objects)))
    except DelphiError as error:
        fail(str(error))
    typer.echo(f"deleted: {', '.join(f'{count:,} {what}' for what, count in deleted.items())}")


async def _delete(conversation: str, settings: "Settings") -> dict[str, int]:
    from gateleg.apps.delphi.application import application
    from gateleg.apps.delphi.runs.deletion import check_idle, delete_conversation

    async with open_resources(application, settings) as resources:
        await check_idle(resources.queue, conversation)
        return await delete_conversation(resources.store, resources.objects, conversation)


async def _resubmit(names: list[str] | None, config: dict[str, object], settings: "Settings") -> list[tuple[str, str]]:
    from gateleg.apps.delphi.application import application
    from gateleg.apps.delphi.runs.reprocessing import reprocess as submit_again

    async with open_resources(application, settings) as resources:
        jobs = await submit_again(resources.store, resources.queue, names, config, "command line")
    return [(str(job.job_id), job.subject or "") for job in jobs]


def _analyse(
    conversation: "Conversation",
    settings: dict[str, object],
    with_topics: bool,
    embedding_model: str | None,
    chat: str | None,
    author: str | None,
    report: "Report",
) -> "tuple[Findings, dict[str, bytes]]":
    from gateleg.apps.delphi.model_warnings import naming_warning
    from gateleg.apps.delphi.opinions.config import VotesConfig
    from gateleg.apps.delphi.opinions.stage import analyse
    from gateleg.apps.delphi.reports.artifacts import data_files, make_artifacts
    from gateleg.apps.delphi.reports.findings import find
    from gateleg.apps.delphi.reports.moments import with_moments
    from gateleg.apps.delphi.reports.self_descriptions import with_alternative, with_suggestions
    from gateleg.apps.delphi.topics.config import TopicsConfig
    from gateleg.apps.delphi.topics.stage import analyse_comments, names_given_up

    for address in (chat, author):
        if address is not None:
            # An unknown provider or a missing key is known now, before minutes of work.
            _models().chat(address)
    report("votes", 0.0)
    removed = conversation.removed_participants
    opinions = analyse(conversation.votes, conversation.comments, VotesConfig.model_validate(settings), removed_participants=removed)
    topics = None
    if with_topics:
        models = _models()
        namer = None if chat is None else models.chat(chat)
        config = TopicsConfig.model_validate({"naming_model": chat} | ({"embedding_model": embedding_model} if embedding_model else {}))
        embeddings = models.embeddings(config.embedding_address)
        votes = conversation.counted_votes
        topics = analyse_comments(conversation.comments, embeddings, config, chat=namer, votes=votes, report=report)
        if failed := names_given_up(topics):
            typer.echo(f"warning: {naming_warning(failed)}", err=True)
    report("timeline", 0.0)
    cast = conversation.counted_votes(opinions.config.max_votes)
    plain = with_suggestions(find(conversation, opinions, topics), () if topics is None else topics.suggested)
    findings = with_moments(plain, cast, opinions.moderation, opinions.matrix.participants)
    findings = with_alternative(findings, conversation, opinions.config)
    sections, written_by = _sections(findings, author, report)
    report("report", 0.0)
    data = data_files(findings, opinions.matrix, conversation.comments)
    return findings, make_artifacts(findings, sections, data, written_by, opinions.matrix)


def _with_self_descriptions_as_meta(conversation: "Conversation", embedding_model: str | None) -> "Conversation":
    """The conversation with suggested self-descriptions marked as if a moderator had confirmed them."""
    from dataclasses import replace

    from gateleg.apps.delphi.topics.config import TopicsConfig
    from gateleg.apps.delphi.topics.self_descriptions import suggest

    config = TopicsConfig.model_validate({"embedding_model": embedding_model} if embedding_model else {})
    numbers = {one.comment_id for one in suggest(conversation.comments, _models().embeddings(config.embedding_address))}
    comments = [replace(one, is_meta=True) if one.comment_id in numbers else one for one in conversation.comments]
    return replace(conversation, comments=comments)


def _models() -> "Models":
    """The models that are configured in `[models]` of gateleg.toml and in GATELEG_MODELS__... variables."""
    from gateleg.ai import Models, ModelSettings

    settings = settings_from(None)
    with explaining_bad_settings():
        return Models(settings.section("models", ModelSettings))


def _sections(findings: "Findings", author: str | None, report: "Report") -> "tuple[list[Section], str]":
    """The sections of the report, and who wrote them."""
    from gateleg.apps.delphi.model_warnings import warnings_of
    from gateleg.apps.delphi.reports.model_sections import write_section
    from gateleg.apps.delphi.reports.narrative import write_sections

    templates = write_sections(findings)
    if author is None:
        return templates, "templates"
    chat, found = _models().chat(author), []
    for number, template in enumerate(templates):
        report("writing", number / len(templates))
        found.append(write_section(chat, findings, template))
    given_up = {one.section.id: one.failure or list(one.faults) for one in found if one.given_up}
    for warning in warnings_of({"given_up": given_up, "sections": len(found)}):
        typer.echo(f"warning: {warning}", err=True)
    return [one.section for one in found], " and ".join(sorted({one.by for one in found}))


def _translator_address(language: str, model: str | None) -> str | None:
    """The address of the model that translates; None if nothing is to be translated. Wrong options fail here, before any work."""
    from pydantic import ValidationError

    from gateleg.apps.delphi.reports.config import NO_TRANSLATOR, ReportConfig

    if language != "en" and model is None:
        fail(f"{NO_TRANSLATOR.format(language)} (--translator).")
    try:
        return ReportConfig(language=language, translator=model).translator_address
    except ValidationError:
        fail(f"--language {language!r} is not a language tag such as de or pt-BR, or {model!r} is not the address of a model.")


def _translate(files: "Mapping[str, bytes]", language: str, model: str | None, report: "Report") -> dict[str, bytes]:
    """The translated pages; none without a model."""
    if model is None:
        return {}
    from gateleg.apps.delphi.reports.artifacts import translated_files

    return translated_files(_models().chat(model), files, language, lambda done: report("translating", done))


def _print_files(files: "Mapping[str, bytes]", pdf: bool, png: bool, report: "Report") -> dict[str, bytes]:
    """The PDF and PNG files that Chromium prints."""
    from gateleg.apps.delphi.reports.chromium import find_browser, print_files

    if not (pdf or png):
        return {}
    report("printing", 0.0)
    find_browser()
    return print_files(files, [name for name, wanted in (("pdf", pdf), ("png", png)) if wanted])


def _write(folder: Path, files: "Mapping[str, bytes]") -> None:
    """Write the files. Remove files that only an earlier run wrote, unless they have been changed since."""
    from gateleg.apps.delphi.reports.manifest import MANIFEST, leftovers, manifest_of

    known = folder / MANIFEST
    for name in leftovers(known.read_bytes() if known.is_file() else b"", files, lambda name: _content(folder / name)):
        (folder / name).unlink()
    for name, content in {**files, MANIFEST: manifest_of(files)}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _print_summary(findings: "Findings", out: Path) -> None:
    from gateleg.apps.delphi.reports.config import MAP, REPLAY, REPORT
    from gateleg.apps.delphi.reports.sections import number_of

    totals = findings.totals
    size = f"{number_of(totals.votes, 'vote')} of {number_of(totals.participants, 'participant')}"
    typer.echo(f"{size} on {number_of(totals.comments_voted_on, 'comment')}")
    from gateleg.apps.delphi.reports.certainty import verdict_of
    from gateleg.apps.delphi.reports.self_descriptions import sentences_of

    typer.echo(f"groups: {', '.join(f'{group.letter} with {group.size:,}' for group in findings.groups) or 'none'}")
    if verdict := verdict_of(findings):
        typer.echo(f"        {verdict}")
    for text in sentences_of(findings):
        typer.echo(f"        {text}")
    if findings.topics:
        typer.echo(f"topics: {' > '.join(str(len(layer)) for layer in reversed(findings.topics))} from coarse to fine")
    if findings.from_words and findings.known_words is not None:
        typer.echo(f"        by words and votes: the embedding model knows only {findings.known_words:.0%} of the words (see --embeddings)")
    typer.echo(f"report: {out / REPORT}")
    typer.echo(f"map:    {out / MAP}")
    if findings.moments:
        typer.echo(f"replay: {out / REPLAY}")
