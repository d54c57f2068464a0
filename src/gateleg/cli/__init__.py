"""The command line: `gateleg ...`."""

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments name."""
    from gateleg.cli.commands import app

    app()
