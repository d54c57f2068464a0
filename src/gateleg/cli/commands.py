"""All commands. A group is imported when it is called, and its dependencies when a command runs, so that each starts quickly.

Applications that are registered as entry points add their own: `gateleg {name} ...`.
"""

from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import gateleg
from gateleg.cli.installed import load_commands, registered
from gateleg.commands.opening import explaining_bad_settings
from gateleg.commands.printing import MISUSED, fail

#: Command, and the module whose `app` holds it: a group, or a single command.
GROUPS = {
    "up": "gateleg.cli.up",
    "serve": "gateleg.cli.serve",
    "engine": "gateleg.cli.engine",
    "tables": "gateleg.cli.tables",
    "objects": "gateleg.cli.objects",
    "migrate": "gateleg.cli.migrate",
    "jobs": "gateleg.cli.jobs",
    "streams": "gateleg.cli.streams",
    "search": "gateleg.cli.search",
    "worker": "gateleg.cli.worker",
    "keys": "gateleg.cli.keys",
    "sessions": "gateleg.cli.sessions",
    "secrets": "gateleg.cli.secrets",
    "webhooks": "gateleg.cli.webhooks",
    "models": "gateleg.cli.models",
    "token": "gateleg.cli.token",
    "config": "gateleg.cli.config",
    "doctor": "gateleg.cli.doctor",
    "new": "gateleg.cli.new",
}
#: The help of groups that load much, so that the list of all commands does not load them.
HELP = {
    "tables": "Declared tables: plan, apply, query, explain, check, document, export and import them; single items.",
    "objects": "Objects: put, delete and share them.",
    "jobs": "Jobs: submit, list, follow, cancel and retry them; queues, schedules and the archive.",
    "keys": "API keys of a host: create, list and revoke them.",
    "sessions": "Sessions of browsers: list and end them.",
    "secrets": "Secrets of applications and tenants, encrypted in the store.",
    "webhooks": "Webhooks of applications: add, list, disable and delete them, and send deliveries again.",
}


class Commands(TyperGroup):
    """The commands of this module, the groups, and those of registered applications."""

    #: whether only names and help are needed, so that no application is imported
    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the help."""
        return [*GROUPS, *super().list_commands(ctx), *(name for name in registered() if name not in GROUPS)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command, whose group is imported now."""
        if self._listing and cmd_name in HELP:
            return TyperGroup(name=cmd_name, help=HELP[cmd_name])
        if cmd_name in GROUPS:
            command = typer.main.get_command(import_module(GROUPS[cmd_name]).app)
        elif cmd_name in registered():
            if self._listing:
                return TyperGroup(name=cmd_name, help=f"The application {cmd_name}; `gateleg {cmd_name} --help` lists its commands.")
            command = _group_of(cmd_name)
        else:
            return super().get_command(ctx, cmd_name)
        command.name = cmd_name
        _hide_flag_types(command)
        return command

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command. For an unknown one, suggest similar names; Typer knows only those of commands that are imported."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and (similar := get_close_matches(args[0], names)):
            ctx.fail(f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, similar))}?")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help without importing any application."""
        self._listing = True
        _hide_flag_types(self)
        try:
            super().format_help(ctx, formatter)
        finally:
            self._listing = False


def _group_of(name: str) -> TyperGroup:
    """The commands of an installed application, with those of its actions."""
    application, commands = load_commands(name)
    # A group even for a single command: an application may add a second one without changing the first.
    groups = [] if commands is None else [typer.main.get_group(commands)]
    if application.actions:
        from gateleg.cli.action_commands import commands_of

        with explaining_bad_settings():
            groups.append(typer.main.get_group(commands_of(application)))
    for action, command in groups[-1].commands.items() if len(groups) > 1 else ():
        if action in groups[0].commands:
            fail(f"the application {name} has the command {action!r} twice: by `commands` and by an action", MISUSED)
        groups[0].add_command(command, action)
    return groups[0]


def _hide_flag_types(command: Any) -> None:
    """Leave `<bool>` out of the help of options that take no value."""
    for option in command.get_params(typer.Context(command)):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        _hide_flag_types(inner)


app = typer.Typer(
    name="gateleg",
    cls=Commands,
    help="Build DynamoDB applications in Python that run embedded in one process or on Amazon DynamoDB, unchanged.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"gateleg {gateleg.__version__}")
        raise typer.Exit


@app.callback()
def gateleg_command(
    version: Annotated[bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")] = False,
) -> None:
    """Handle the options before a command."""
