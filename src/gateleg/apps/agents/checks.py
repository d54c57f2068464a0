"""The checks for `gateleg doctor`: whether the catalogue lists a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.host import Check, CheckResult

if TYPE_CHECKING:
    from gateleg.apps.agents.settings import AgentsSettings
    from gateleg.host import Resources


def agents_checks(resources: Resources[AgentsSettings]) -> list[Check]:
    """The checks of the agents application."""

    async def catalogue() -> CheckResult:
        count = await resources.store.count(Llm.everything, limit=1_000)
        if count == 0:
            return CheckResult("warning", "the catalogue lists no model", fix="Start the host once: it adds the local model.")
        return CheckResult("ok", f"the catalogue lists {count} models")

    return [Check("model catalogue", catalogue)]
