"""Use cases: versioned prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateleg.apps.agents.rendering import PromptPreview, preview, read_variables
from gateleg.apps.agents.version_lists import IndexLookup, VersionFilter, list_versions
from gateleg.apps.agents.versions import (
    PROMPTS,
    create_first,
    create_next,
    delete_version,
    duplicate,
    find_active,
    find_version,
    update_version,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gateleg.apps.agents.listing import Listing, Paging
    from gateleg.apps.agents.tables import PromptTemplate
    from gateleg.apps.agents.tenancy import Context
    from gateleg.store import AsyncStore


async def find_prompt(
    store: AsyncStore, context: Context, *, prompt_uuid: str | None = None, prompt_version_uuid: str | None = None
) -> PromptTemplate | None:
    """Find the active version of a prompt, or one version by its own id."""
    if prompt_uuid:
        return await find_active(store, context, PROMPTS, prompt_uuid)
    return await find_version(store, context, PROMPTS, prompt_version_uuid) if prompt_version_uuid else None


async def list_prompts(
    store: AsyncStore,
    context: Context,
    paging: Paging,
    *,
    prompt_uuid: str | None = None,
    prompt_type: str | None = None,
    prompt_name: str | None = None,
    statuses: Sequence[str] | None = None,
    updated_at_gt: datetime | None = None,
    updated_at_lt: datetime | None = None,
) -> Listing[PromptTemplate]:
    """List versions of prompts, oldest change first."""
    wanted = VersionFilter(prompt_uuid, prompt_name, statuses, updated_at_gt, updated_at_lt)
    return await list_versions(store, context, PROMPTS, paging, wanted, IndexLookup("of_type", "prompt_type", prompt_type))


async def save_prompt(store: AsyncStore, context: Context, values: Mapping[str, Any], *, copied: bool = False) -> PromptTemplate:
    """Create a prompt, add a version (`prompt_uuid`), change a version (`prompt_version_uuid`), or with `copied` duplicate it."""
    version = values.get("prompt_version_uuid")
    if copied and version:
        return await duplicate(store, context, PROMPTS, version, {"updated_by": values.get("updated_by")})
    if version:
        return await update_version(store, context, PROMPTS, version, values, _checked)
    if values.get("prompt_uuid"):
        return await create_next(store, context, PROMPTS, values["prompt_uuid"], values, complete=_checked)
    return await create_first(store, context, PROMPTS, values, _checked)


async def delete_prompt(store: AsyncStore, context: Context, prompt_version_uuid: str) -> bool:
    """Delete a version of a prompt; the last one only if no flow uses the prompt."""
    return await delete_version(store, context, PROMPTS, prompt_version_uuid)


async def preview_prompt(
    store: AsyncStore, context: Context, prompt_version_uuid: str, values: Mapping[str, Any], flow: str | None = None
) -> PromptPreview | None:
    """Render a version of a prompt as far as possible; None if it does not exist."""
    prompt = await find_version(store, context, PROMPTS, prompt_version_uuid)
    return None if prompt is None else preview(prompt.template_context, values, prompt.variables, flow)


async def _checked(prompt: PromptTemplate) -> PromptTemplate:
    """Return the prompt if its variable declarations are valid. Raises `BadTemplate`."""
    read_variables(prompt.variables)
    return prompt
