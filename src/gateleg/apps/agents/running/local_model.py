"""The catalogue entry of the local model, so that agents can be created without registering a provider."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.apps.agents.running.handlers.built_in import LocalHandler
from gateleg.store import AlreadyExists

if TYPE_CHECKING:
    from gateleg.store import AsyncStore

__all__ = ["LOCAL_LLM", "add_local_model"]

#: Provider and name of the local model.
LOCAL_LLM = ("local", "smollm2")


async def add_local_model(store: AsyncStore) -> None:
    """Add the local model to the catalogue if it is missing."""
    provider, name = LOCAL_LLM
    if await store.find(Llm, llm_provider=provider, llm_name=name) is not None:
        return
    entry = Llm(
        llm_provider=provider, llm_name=name, module_name=LocalHandler.__module__, class_name=LocalHandler.__name__, updated_by="gateleg"
    )
    # Another process may add it at the same time.
    with suppress(AlreadyExists):
        await store.create(entry)
