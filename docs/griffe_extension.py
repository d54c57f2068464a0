"""An extension of griffe, which reads the sources for the reference of the Python API without running them.

It adds what exists only at run time, and leaves out what no user calls:

- Methods that the code makes from functions, such as `Store.get = sync_method(reads.get)`, are methods in the reference too. Each has the
  name, documentation and signature of its function (`gateleg.store.verbs.describe`).
- Indented lines in the docstring of a module are code, also without an empty line before them.
- An error begins with its code, which leads to its entry among all errors; what every error has is only shown at `GatelegError`.
- Special methods, and attributes without documentation in classes that are not values, are left out.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import griffe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

sys.path.insert(0, str(Path(__file__).parent))

import generate

#: The modules whose classes have methods that were made from functions.
_MODULES = ("gateleg.store.store", "gateleg.store.blocks", "gateleg.jobs.queue")
#: The classes below these are values: all of their attributes are shown.
_VALUES = {
    "pydantic.BaseModel",
    "enum.Enum",
    "enum.StrEnum",
    "enum.IntEnum",
    "typing.NamedTuple",
    "typing.TypedDict",
    "typing_extensions.TypedDict",
}
_ERROR = "gateleg.errors.GatelegError"
_INDENTED = re.compile(r"((?:^(?: {4}.*)?\n)*^ {4}.*(?:\n|\Z))", re.MULTILINE)


class Gateleg(griffe.Extension):
    """What the sources of Gateleg do not say to a reader that does not run them."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Change the package once all of it has been read."""
        if pkg.path != "gateleg":
            return
        for name in _MODULES:
            _add_methods(pkg.modules_collection[name])
        listed = frozenset(re.findall(r"^### (\S+)$", generate.errors(), re.MULTILINE))
        for module in _modules(pkg):
            if module.docstring is not None:
                module.docstring.value = _with_code_blocks(module.docstring.value)
            for cls in _own(module.classes):
                if _ERROR in _ancestors(cls):
                    _name_code(cls, listed)
                _leave_out(cls)
        for member in pkg.modules_collection[_ERROR].members.values():
            member.public = False


def _modules(module: griffe.Module) -> Iterator[griffe.Module]:
    yield module
    for below in _own(module.modules):
        yield from _modules(below)


def _own(members: dict[str, Any]) -> list[Any]:
    return [member for member in members.values() if not member.is_alias]


def _add_methods(module: griffe.Module) -> None:
    built = importlib.import_module(module.path)
    for cls in _own(module.classes):
        for name, value in vars(getattr(built, cls.name)).items():
            is_known = name in cls.members and cls.members[name].is_function
            if inspect.isfunction(value) and not name.startswith("_") and not is_known:
                cls.set_member(name, _method(cls, name, value))


def _method(cls: griffe.Class, name: str, function: Callable[..., Any]) -> griffe.Function:
    # The names in the signature are those of the module of the function that the method was made from.
    scope = cls.modules_collection[function.__module__]
    signature = inspect.signature(function)
    parameters = (
        griffe.Parameter(
            parameter.name,
            kind=getattr(griffe.ParameterKind, parameter.kind.name.lower()),
            annotation=_expression(parameter.annotation, scope),
            default=None if parameter.default is inspect.Parameter.empty else _written(parameter.default),
        )
        for parameter in signature.parameters.values()
    )
    return griffe.Function(
        name,
        parameters=griffe.Parameters(*parameters),
        returns=_expression(signature.return_annotation, scope),
        docstring=griffe.Docstring(inspect.getdoc(function) or "", parent=cls),
        parent=cls,
    )


def _expression(annotation: Any, scope: griffe.Module) -> griffe.Expr | str | None:
    if annotation is inspect.Signature.empty:
        return None
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return griffe.safe_get_expression(ast.parse(text, mode="eval").body, parent=scope)


def _written(default: object) -> str:
    """A default as the source has it, or dots for one whose repr is no expression."""
    text = repr(default)
    return "..." if text.startswith("<") else text


def _with_code_blocks(docstring: str) -> str:
    """A docstring with its indented lines in fences."""
    parts = filter(str.strip, _INDENTED.split(docstring))
    return "\n\n".join(_fenced(textwrap.dedent(part).strip()) if part.lstrip("\n").startswith("    ") else part.strip() for part in parts)


def _fenced(code: str) -> str:
    try:
        ast.parse(code)
    except SyntaxError:
        return f"```text\n{code}\n```"
    return f"```python\n{code}\n```"


def _name_code(cls: griffe.Class, listed: frozenset[str]) -> None:
    """Let the documentation of an error begin with its code, which most classes derive from their name at run time."""
    code = getattr(importlib.import_module(cls.module.path), cls.name).code
    if cls.docstring is not None:
        cls.docstring.value = f"Error code {f'[`{code}`][{code}]' if code in listed else f'`{code}`'}.\n\n{cls.docstring.value}"


def _leave_out(cls: griffe.Class) -> None:
    keeps_attributes = "dataclass" in cls.labels or any(base in _VALUES for base in _ancestors(cls))
    for name, member in [*cls.members.items()]:
        special = name.startswith("__") and name != "__init__"
        if special or (member.is_attribute and member.docstring is None and not keeps_attributes):
            cls.del_member(name)


def _ancestors(cls: griffe.Class) -> Iterator[str]:
    """The full names of the classes that a class derives from."""
    for base in cls.bases:
        path = base if isinstance(base, str) else base.canonical_path
        yield path
        if path.startswith("gateleg.") and path != cls.path:
            found = cls.modules_collection[path]
            yield from _ancestors(found.final_target if found.is_alias else found)
