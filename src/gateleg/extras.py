"""Optional packages: which extra installs each, and the error to raise when one is missing. Imports no room."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from gateleg import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["MissingPackage", "check_installed", "explained", "install_hint"]

#: Import names of optional packages, and the extra that installs each.
EXTRA_OF = {
    "apsw": "engine",
    "typer": "cli",
    "rich": "cli",
    "fastapi": "web",
    "starlette": "web",
    "uvicorn": "web",
    "nicegui": "web",
    "python_multipart": "web",
    "authlib": "web",
    "joserfc": "web",
    "prometheus_client": "web",
    "fastapi_offline": "web",
    "boto3": "aws",
    "botocore": "aws",
    "opentelemetry": "tracing",
}


class MissingPackage(ModuleNotFoundError):
    """An optional package is not installed. `name` is the package, `extra` the extra that installs it."""

    code = "missing-package"

    def __init__(self, package: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{package} is not installed. {install_hint(extra)} [{self.code}]", name=package)

    def __reduce__(self) -> tuple[type[MissingPackage], tuple[str, str]]:
        return type(self), (self.name or "", self.extra)


def install_hint(extra: str) -> str:
    """How to install an extra, from a checkout or from a wheel."""
    return (
        f"Install the extra `{extra}`: `pip install '.[{extra}]'` in a checkout of Gateleg, "
        f"or `pip install './gateleg-{__version__}-py3-none-any.whl[{extra}]'` beside its wheel."
    )


def explained(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error to raise for a missing module: `MissingPackage` if an extra installs it, otherwise the error itself."""
    package = (error.name or "").partition(".")[0]
    if isinstance(error, MissingPackage) or package not in EXTRA_OF:
        return error
    return MissingPackage(package, EXTRA_OF[package])


def check_installed(packages: Iterable[str]) -> None:
    """Raise `ModuleNotFoundError` for the first package that is missing, without importing any."""
    for name in packages:
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
