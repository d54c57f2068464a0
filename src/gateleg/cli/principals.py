"""Who acts when a command changes something."""

from typing import Any


def command_line_principal() -> Any:
    """The user of the command, who is an admin."""
    from gateleg.web import Principal, Role

    return Principal("command line", Role.ADMIN)
