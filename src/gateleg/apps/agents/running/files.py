"""Files attached to questions. Each is stored under its tenant and user, and only they can refer to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.agents.errors import NotFoundInPartition
from gateleg.apps.agents.files import folder_of
from gateleg.apps.agents.running.job_types import InputFile
from gateleg.apps.agents.tables import new_id

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.apps.agents.tenancy import Context
    from gateleg.host import Resources

__all__ = ["check_files", "store_question_file"]

_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9._-]+")


async def store_question_file(resources: Resources[AgentsSettings], context: Context, name: str, media_type: str, data: bytes) -> InputFile:
    """Store a file of a user for later questions."""
    plain = _INVALID_CHARACTERS.sub("_", name).strip("._")[-100:] or "file"
    key = f"{folder_of(context)}files/{new_id()}/{plain}"
    await resources.objects.put(key, data, content_type=media_type)
    return InputFile(object_key=key, media_type=media_type, name=name)


async def check_files(resources: Resources[AgentsSettings], context: Context, files: Iterable[InputFile]) -> None:
    """Raise `NotFoundInPartition` for a file outside the caller's folder, whether or not another user has it."""
    for file in files:
        own = file.object_key.startswith(folder_of(context)) and ".." not in file.object_key
        if not own or not await resources.objects.exists(file.object_key):
            raise NotFoundInPartition(f"There is no file {file.object_key!r}.")
