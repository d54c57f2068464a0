"""The command line: `gateleg ...`."""

import sys

from gateleg import __version__
from gateleg.extras import MissingPackage, explained

__all__ = ["main"]


def main() -> None:
    """Run the command of the arguments. If it needs a package that is not installed, the error names the extra."""
    if sys.argv[1:] == ["--version"]:  # also without the extra `cli`
        print(f"gateleg {__version__}")
        return
    try:
        try:
            from gateleg.cli.commands import app

            app()
        except ModuleNotFoundError as error:
            raise explained(error) from error
    except MissingPackage as error:
        sys.exit(f"gateleg: {error}")
