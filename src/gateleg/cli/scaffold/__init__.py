"""The templates of `gateleg new`, and their values."""

from __future__ import annotations

from importlib import resources
from string import Template

#: Template and target path. `$name` is the application's name, `$module` its package, `$Title` the prefix of its classes and tables.
FILES = {
    "pyproject.toml": "pyproject.toml",
    "README.md": "README.md",
    "gateleg.toml": "gateleg.toml",
    "package.py": "src/$module/__init__.py",
    "application.py": "src/$module/application.py",
    "settings.py": "src/$module/settings.py",
    "tables.py": "src/$module/tables.py",
    "service.py": "src/$module/service.py",
    "work.py": "src/$module/work.py",
    "api.py": "src/$module/api.py",
    "pages.py": "src/$module/pages.py",
    "commands.py": "src/$module/commands.py",
    "test_application.py": "tests/test_application.py",
}


def files_of(name: str) -> dict[str, str]:
    """The files of a new application, by path."""
    module = name.replace("-", "_")
    words = {"name": name, "module": module, "Title": "".join(part.capitalize() for part in name.split("-"))}
    templates = resources.files("gateleg.cli.scaffold").joinpath("templates")
    return {
        Template(path).substitute(words): Template(templates.joinpath(f"{source}.txt").read_text(encoding="utf-8")).substitute(words)
        for source, path in FILES.items()
    }
