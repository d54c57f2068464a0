"""The command line: `gateleg ...`."""

import sys

from gateleg.extras import MissingPackage, explained

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments name. A package that it needs and that is not installed is named with its extra."""
    try:
        try:
            from gateleg.cli.commands import app

            app()
        except ModuleNotFoundError as error:
            raise explained(error) from error
    except MissingPackage as error:
        sys.exit(f"gateleg: {error}")
