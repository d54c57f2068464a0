"""The demo data of `gateleg up --demo`: a collection with Gateleg's manual."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from gateleg.apps.rag.access import Caller
from gateleg.apps.rag.ingesting.local_files import LocalFile, add_files, open_or_create
from gateleg.host import Principal, Role

if TYPE_CHECKING:
    from gateleg.apps.rag.settings import RagSettings
    from gateleg.host import Resources

REPOSITORY, COLLECTION = "gateleg", "Manual"
#: Markdown sections that fit into the context of the local embedding model.
STRATEGY = {"type": "MARKDOWN", "chunkSize": 1_000, "chunkOverlap": 100}
_DEMO = Caller(Principal("demo", Role.ADMIN))


async def load(resources: Resources[RagSettings]) -> None:
    """Create the collection if it does not exist, and ingest the pages that are new or have changed."""
    opened = await open_or_create(resources, _DEMO, REPOSITORY, COLLECTION, title="Gateleg", strategy=STRATEGY)
    await add_files(resources, _DEMO, opened, manual_pages())


def manual_pages() -> list[LocalFile]:
    """The pages of the manual, from the installed package or from `docs/` of the checkout."""
    for folder in (Path(str(files("gateleg") / "manual")), Path(__file__).parents[4] / "docs"):
        if (folder / "quickstart.md").is_file():
            pages = [*folder.glob("*.md"), *folder.glob("how-to/*.md"), *folder.glob("why/*.md")]
            return [LocalFile(page, page.relative_to(folder).as_posix()) for page in sorted(pages) if page.name != "README.md"]
    return []
