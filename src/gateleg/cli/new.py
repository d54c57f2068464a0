"""`gateleg new`: a small working application to start from."""

from pathlib import Path
from typing import Annotated

import typer

from gateleg.commands.printing import MISUSED, fail

app = typer.Typer(add_completion=False)


@app.command()
def new(
    name: Annotated[str, typer.Argument(help="The name of the application: lower-case letters, digits and hyphens.")],
    folder: Annotated[Path | None, typer.Option("--in", help="Folder to write it to; by default one with the application's name.")] = None,
) -> None:
    """Write a package with a table, a job, routes, a page, a command, settings and tests. `gateleg up` serves it once it is installed."""
    import keyword

    from gateleg.cli.scaffold import files_of
    from gateleg.host import Application, Refusal
    from gateleg.host.application import check_applications

    try:
        check_applications([Application(name=name, title=name, icon="notes")])
    except Refusal as error:
        fail(str(error), MISUSED)
    if keyword.iskeyword(name):
        fail(f"{name} is a Python keyword and cannot be a package name", MISUSED)
    place = folder or Path(name)
    if place.exists() and any(place.iterdir() if place.is_dir() else [place]):
        fail(f"{place} already exists and is not empty", MISUSED)
    for path, text in files_of(name).items():
        file = place / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    typer.echo(f"{name} was created in {place}. To run it:")
    typer.echo(f"  cd {place} && pip install -e . && gateleg up")
