"""The Python API reference: one page for each public package, generated from the names in its `__all__`."""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, is_typeddict

from pydantic import BaseModel

import gateleg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: The public packages in the order of the reference, with the subject of each and the guides that show it in use.
ROOMS = {
    "model": "Declare entities, keys, indexes and access patterns. Guide: [declare a model](../../how-to/model.md)",
    "store": "Read and write entities, with transactions and batches. Guide: [the store](../../how-to/store.md)",
    "jobs": "The job queue and its worker. Guide: [run jobs](../../how-to/jobs.md)",
    "jobs.monitor": "Statistics, history and trees of jobs, for dashboards. Guide: [run jobs](../../how-to/jobs.md)",
    "jobs.tables": "The items of the queue's tables. Guide: [run jobs](../../how-to/jobs.md#the-queues-tables)",
    "jobs.worker": "Run workers in a program of your own. Guide: [run jobs](../../how-to/jobs.md)",
    "jobs.purging": "Purge items with everything that belongs to them. Guide: [purge](../../how-to/purge.md)",
    "jobs.table_streams": "Consume the streams of tables. Guide: [stream consumers](../../how-to/stream-consumer.md)",
    "objects": "Files in a folder or in S3. Guide: [store files](../../how-to/objects.md)",
    "ai": "Chat, embedding, reranking and media models. Guide: [use models](../../how-to/models.md)",
    "migrate": "Compare and apply tables, and run migrations. Guide: [change a schema](../../how-to/migrate.md)",
    "ops": "Explain, lint, document, export and import tables. Guide: [tables](../../how-to/tables.md)",
    "engine": "The embedded DynamoDB. Guide: [quickstart](../../quickstart.md#call-the-engine-directly)",
    "endpoint": "The engine over HTTP. Guide: [serve the DynamoDB protocol](../../how-to/serve.md)",
    "host": "Applications, callers and resources. Guide: [write an application](../../how-to/applications.md)",
    "web.access": "The caller of a route, and the role that it needs. Guide: [run a host](../../how-to/host.md)",
    "web.app": "The host as an ASGI application. Guide: [run a host](../../how-to/host.md)",
    "host.host": "What a host has opened: store, objects, queue. Guide: [test an application](../../how-to/test-an-application.md)",
    "host.settings": "The settings of a host. All of them are in [settings](../settings.md)",
    "web.bodies": "Limits for the bodies of requests. Guide: [write an application](../../how-to/applications.md)",
    "web.api.pages": "Lists of your own routes in pages. Guide: [write an application](../../how-to/applications.md)",
    "host.webhooks": "Webhooks. Guide: [webhooks](../../how-to/webhooks.md)",
    "host.secrets": "Secrets of applications and tenants. Guide: [secrets](../../how-to/secrets.md)",
    "web.uploads": "Uploads. Guide: [uploads](../../how-to/uploads.md)",
    "host.live": "Live events (server-sent events) of an application. Guide: [write an application](../../how-to/applications.md)",
    "web.console.components": "Components for console pages. Guide: [write an application](../../how-to/applications.md)",
    "net": "Credentials, signatures, tokens and the guard for outgoing requests. Guide: [outgoing requests](../../how-to/outgoing.md)",
    "net.http": "An HTTP client. Guide: [outgoing requests](../../how-to/outgoing.md)",
    "net.webhook_signature": "Sign and verify webhooks. Guide: [webhooks](../../how-to/webhooks.md)",
    "commands": "Building blocks for commands of an application. Guide: [write an application](../../how-to/applications.md)",
    "errors": "The base class of every error. See also [all errors](../errors.md)",
    "model.planning": "Plan requests from entities. For authors of stores and tools",
    "model.expressions": "Conditions and update actions. For authors of stores and tools",
    "model.inspection": "Describe and lint declared tables. For authors of tools",
    "store.operations": "Every verb as a function that builds its operation. Guide: [the store](../../how-to/store.md)",
    "store.locks": "Locks that several processes share. Guide: [the store](../../how-to/store.md)",
    "store.flow": "Flows of requests that a sync or an async store runs. For authors of operations",
    "store.transports": "What transports share. For authors of transports",
}
#: Longer signatures are written with one parameter per line.
_WIDTH = 110


def page(room: str) -> str:
    """The reference page of a package."""
    module = importlib.import_module(f"gateleg.{room}")
    exported = {name: getattr(module, name) for name in sorted(module.__all__, key=str.lower)}
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("Functions", {name: value for name, value in exported.items() if inspect.isroutine(value)}),
        ("Classes", {name: value for name, value in exported.items() if inspect.isclass(value) and not _is_error(value)}),
        ("Errors", {name: value for name, value in exported.items() if inspect.isclass(value) and _is_error(value)}),
    ]
    known = {name for _, members in kinds for name in members}
    kinds.append(("Constants and types", {name: value for name, value in exported.items() if name not in known}))
    lines = [f"# `gateleg.{room}`\n", f"{ROOMS[room]}.\n", *_overview(module)]
    for title, members in kinds:
        if members:
            lines.append(f"## {title}\n")
            for name, value in members.items():
                lines += _entry(name, value)
    return "\n".join(lines).rstrip() + "\n"


def _is_error(value: type) -> bool:
    return issubclass(value, BaseException)


def _overview(module: Any) -> list[str]:
    """The docstring of a module, with its indented lines as code blocks."""
    indented = re.compile(r"((?:^(?: {4}.*)?\n)*^ {4}.*(?:\n|\Z))", re.MULTILINE)
    blocks = filter(str.strip, indented.split(inspect.getdoc(module) or ""))
    code = ((textwrap.dedent(block).strip("\n"), block.lstrip("\n").startswith("    ")) for block in blocks)
    return [f"```text\n{text}\n```\n" if is_code else f"{text.strip()}\n" for text, is_code in code]


def _entry(name: str, value: Any) -> list[str]:
    if inspect.isclass(value):
        return _class(name, value)
    if inspect.isroutine(value):
        return [f"### `{name}`\n", _code(_signature(name, value)), _doc(value)]
    if get_origin(value) is Annotated:
        kind = get_args(value)[0]
        return [f"### `{name}`\n", f"`Annotated[{getattr(kind, '__name__', kind)}, ...]`\n"]
    # A path is another one on every machine.
    shown = repr(value).replace(str(Path(__file__).parents[1]), "...")
    return [f"### `{name}`\n", f"`{_plain(shown)}`\n"]


def _class(name: str, value: type) -> list[str]:
    lines = [f"### `{name}`\n"]
    if _is_error(value):
        code = getattr(value, "code", None)
        lines.append(f"{f'Error code `{code}`. ' if code else ''}Subclass of `{value.__mro__[1].__name__}`.\n")
        return [*lines, _doc(value)]
    if not issubclass(value, enum.Enum) and not _has_fields(value) and not is_typeddict(value):
        lines.append(_code(_signature(name, value)))
    lines += [_doc(value), *_members(value), *_methods(name, value)]
    return lines


def _has_fields(value: type) -> bool:
    return dataclasses.is_dataclass(value) or issubclass(value, BaseModel)


def _members(value: type) -> list[str]:
    """The fields of a value and the members of an enumeration, with the comments that stand over them."""
    if issubclass(value, enum.Enum):
        return ["Members: " + ", ".join(f"`{member.name}`" for member in value) + ".\n"]
    if issubclass(value, BaseModel):
        written = _written(value)
        found: dict[str, Any] = {name: written.get(name, field.annotation) for name, field in value.model_fields.items()}
    elif is_typeddict(value):
        found = {name: kind for name, kind in _written(value).items() if name in value.__annotations__}
    elif dataclasses.is_dataclass(value):
        found = {field.name: field.type for field in dataclasses.fields(value) if not field.name.startswith("_")}
    else:
        return []
    if not found:
        return []
    comments = _comments(value)
    rows = [f"| `{name}` | `{_cell(_shown(kind))}` | {_cell(comments.get(name, ''))} |" for name, kind in found.items()]
    return ["| field | type | |", "| --- | --- | --- |", *rows, ""]


def _written(value: type) -> dict[str, str]:
    """The types of fields as the source has them: `Attr[Version]` says more than what the alias stands for."""
    found: dict[str, str] = {}
    for owner in reversed(value.__mro__):
        try:
            (body,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
        except (OSError, TypeError, ValueError):
            continue
        fields = [line for line in getattr(body, "body", ()) if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)]
        found |= {line.target.id: ast.unparse(line.annotation) for line in fields if isinstance(line.target, ast.Name)}
    return found


def _comments(value: type) -> dict[str, str]:
    """What `#:` lines say over the fields of a class and of those that it derives from."""
    found: dict[str, str] = {}
    for owner in reversed(value.__mro__):
        try:
            lines = inspect.getsource(owner).splitlines()
        except (OSError, TypeError):
            continue
        said: list[str] = []
        for line in map(str.strip, lines):
            if line.startswith("#:"):
                said.append(line.removeprefix("#:").strip())
                continue
            field = re.match(r"(\w+):", line)
            if field and said:
                found[field[1]] = " ".join(said)
            said = []
    return found


def _methods(owner: str, value: type) -> list[str]:
    lines: list[str] = []
    for name, member in _own(value):
        if isinstance(member, property):
            lines += [f"#### `{owner}.{name}`\n", _doc(member)]
            continue
        function = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        bound = not isinstance(member, staticmethod)
        lines += [f"#### `{owner}.{name}`\n", _code(_signature(f"{owner}.{name}", function, drop_first=bound)), _doc(function)]
    return lines


def _own(value: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class or one of its bases in this package defines."""
    seen: set[str] = set()
    for owner in value.__mro__:
        if not owner.__module__.startswith("gateleg"):
            continue
        for name, member in vars(owner).items():
            wanted = isinstance(member, property | classmethod | staticmethod) or inspect.isfunction(member)
            if wanted and not name.startswith("_") and name not in seen and not name.startswith("model_"):
                seen.add(name)
                yield name, member


def _signature(name: str, value: Callable[..., Any], *, drop_first: bool = False) -> str:
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return f"{name}(...)"
    parameters = list(_marked(list(signature.parameters.values())[1 if drop_first else 0 :]))
    answer = "" if signature.return_annotation is inspect.Signature.empty else f" -> {_shown(signature.return_annotation)}"
    start = f"async {name}" if inspect.iscoroutinefunction(value) else name
    short = f"{start}({', '.join(parameters)}){answer}"
    if len(short) <= _WIDTH:
        return short
    return "\n".join([f"{start}(", *(f"    {parameter}," for parameter in parameters), f"){answer}"])


def _marked(parameters: list[inspect.Parameter]) -> Iterator[str]:
    """The parameters as they are written, with the `/` and `*` that stand between their kinds."""
    kinds = [parameter.kind for parameter in parameters]
    for place, parameter in enumerate(parameters):
        starred = any(kind is parameter.VAR_POSITIONAL for kind in kinds[:place])
        if parameter.kind is parameter.KEYWORD_ONLY and not starred and (place == 0 or kinds[place - 1] is not parameter.KEYWORD_ONLY):
            yield "*"
        yield _parameter(parameter)
        if parameter.kind is parameter.POSITIONAL_ONLY and (place + 1 == len(kinds) or kinds[place + 1] is not parameter.POSITIONAL_ONLY):
            yield "/"


def _parameter(parameter: inspect.Parameter) -> str:
    stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    kind = "" if parameter.annotation is parameter.empty else f": {_shown(parameter.annotation)}"
    default = "" if parameter.default is parameter.empty else f" = {_plain(repr(parameter.default))}"
    return f"{stars}{parameter.name}{kind}{default if kind or not default else default.replace(' ', '')}"


def _shown(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    if inspect.isclass(kind) and not getattr(kind, "__args__", None):
        return kind.__name__
    return _plain(inspect.formatannotation(kind))


def _plain(text: str) -> str:
    """A value or a type without the modules that its names come from, and without addresses of objects, which differ from run to run."""
    text = re.sub(r"<function [\w.<>]*<lambda> at 0x[0-9a-f]+>", "...", text)
    text = re.sub(
        r"<(?:built-in function|function|class|enum) '?([\w.<>]+?)'?(?: at 0x[0-9a-f]+)?>", lambda match: match[1].split(".")[-1], text
    )
    text = re.sub(r"<bound method ([\w.]+) of <.*>>", r"\1", text)
    text = re.sub(r"<([\w.]+) object at 0x[0-9a-f]+>", lambda match: f"{match[1].split('.')[-1]}(...)", text)
    text = re.sub(r"<(\w+\.\w+): [^>]*>", r"\1", text)
    # Where the package lies differs from machine to machine.
    text = text.replace(str(Path(gateleg.__file__).parent), "gateleg")
    return re.sub(r"\b(?:[a-z_]\w*\.)+(?=[A-Za-z_])", "", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _code(signature: str) -> str:
    return f"```text\n{signature}\n```\n"


def _doc(value: Any) -> str:
    return f"{inspect.getdoc(value) or ''}\n"
