"""Fields that the public engine does not have: version labels, differences and pins, prompt previews, and wizards for a user."""

from typing import Any

import strawberry
from strawberry.types.unset import UNSET

from gateleg.apps.agents.errors import BadField
from gateleg.apps.agents.graphql.calls import Info
from gateleg.apps.agents.graphql.enums import VersionKind
from gateleg.apps.agents.graphql.fields import SavePayload, resolver_field, save_payload_type, stored_arguments
from gateleg.apps.agents.graphql.listings import DEFAULT_LIMIT
from gateleg.apps.agents.graphql.scalars import JSON, Verbatim, shown_name
from gateleg.apps.agents.graphql.thread_types import ThreadType
from gateleg.apps.agents.graphql.wizard_types import WizardGroupType
from gateleg.apps.agents.model_names import rename_model
from gateleg.apps.agents.prompts import preview_prompt
from gateleg.apps.agents.rendering import PromptPreview
from gateleg.apps.agents.tables import Thread, VersionPointer, WizardGroup
from gateleg.apps.agents.threads import edit_thread, pin_thread
from gateleg.apps.agents.versions import AGENTS, FLOWS, PROMPTS, VersionedKind, differences, get_version, label
from gateleg.apps.agents.wizards.choice import choose_wizard_groups
from gateleg.apps.agents.wizards.forms import check_answers

_KINDS: dict[str, VersionedKind[Any]] = {one.kind: one for one in (AGENTS, PROMPTS, FLOWS)}


@strawberry.type(name="PromptPreviewType", description="A rendered prompt.")
class PromptPreviewType:
    """A preview."""

    text: str
    missing: list[str] = strawberry.field(description="Variables without a value.")
    problems: list[str] = strawberry.field(description="Values that do not match the type of their variable.")
    unused: list[str] = strawberry.field(description="Values that the prompt does not use.")


@strawberry.type(name="VersionPointerType", description="Which version is active, and which versions have labels.")
class VersionPointerType:
    """A pointer."""

    kind: VersionKind
    logical_uuid: str = strawberry.field(description="The id that all versions share.")
    active_version_uuid: str
    version_count: int
    model_name: str | None = strawberry.field(description="An agent's name as a model of `/v1` and as a tool of MCP.")

    @resolver_field(JSON)
    def labels(root: strawberry.Parent[VersionPointer]) -> Any:
        """Version ids by label."""
        return Verbatim(root.labels)


LabelVersion = save_payload_type("LabelVersion", "versionPointer", VersionPointerType)
NameModel = save_payload_type("NameModel", "versionPointer", VersionPointerType)
PinThread = save_payload_type("PinThread", "thread", ThreadType)
EditThread = save_payload_type("EditThread", "thread", ThreadType)


@strawberry.type
class AddedQueries:
    """Additional queries."""

    @resolver_field(VersionPointerType | None)
    async def version_pointer(self, info: Info, kind: VersionKind, logical_uuid: str) -> VersionPointer | None:
        """The active version of an agent, prompt or flow, and its labelled versions; null if there is none."""
        return await info.context.loaders.find(VersionPointer, kind=kind.value, logical_uuid=logical_uuid)

    @resolver_field(JSON)
    async def version_differences(self, info: Info, kind: VersionKind, before: str, after: str) -> Any:
        """The differences between two versions, by attribute: the earlier and the later value."""
        of, call = _KINDS[kind.value], info.context
        earlier = await get_version(call.store, call.context, of, before)
        later = await get_version(call.store, call.context, of, after)
        return {shown_name(name): list(values) for name, values in differences(of, earlier, later).items()}

    @resolver_field(PromptPreviewType | None)
    async def prompt_preview(
        self, info: Info, prompt_version_uuid: str, values: JSON | None = UNSET, flow_context: str | None = UNSET
    ) -> PromptPreview | None:
        """Render a version of a prompt with these values, and report missing ones; null if there is no such version."""
        call = info.context
        return await preview_prompt(call.store, call.context, prompt_version_uuid, _object("values", values), flow_context or None)

    @resolver_field(list[WizardGroupType])
    async def chosen_wizard_groups(
        self, info: Info, region: str, facts: JSON | None = UNSET, limit: int | None = UNSET
    ) -> list[WizardGroup]:
        """The wizard groups for a user with these attributes in a region, best match first."""
        call = info.context
        known = stored_arguments({"facts": _object("facts", facts)})["facts"]
        found = await choose_wizard_groups(call.store, call.context, region, known, call.checked_limit(limit or DEFAULT_LIMIT))
        return [one.group for one in found]

    @resolver_field(bool)
    async def wizard_answers_fit(self, info: Info, wizard_uuid: str, answers: JSON) -> bool:
        """True if the answers are valid for the wizard's elements; otherwise an error with the code `bad-wizard` names the invalid ones."""
        await check_answers(info.context.store, info.context.context, wizard_uuid, _object("answers", answers))
        return True


@strawberry.type
class AddedMutations:
    """Additional mutations."""

    @resolver_field(LabelVersion)
    async def label_version(
        self, info: Info, kind: VersionKind, logical_uuid: str, name: str, version_uuid: str | None = UNSET
    ) -> SavePayload:
        """Label a version, for example `stable`; without a `versionUuid`, remove the label. A labelled version cannot be deleted."""
        call = info.context
        call.loaders.clear()
        return SavePayload(await label(call.store, call.context, _KINDS[kind.value], logical_uuid, name, version_uuid or None))

    @resolver_field(NameModel)
    async def name_model(self, info: Info, agent_uuid: str, model_name: str) -> SavePayload:
        """Give an agent another name as a model of `/v1` and as a tool of MCP. Its earlier names still lead to it."""
        call = info.context
        call.loaders.clear()
        return SavePayload(await rename_model(call.store, call.context, agent_uuid, model_name))

    @resolver_field(PinThread)
    async def pin_thread(self, info: Info, thread_uuid: str, agent_version_uuid: str | None = UNSET) -> SavePayload:
        """Pin a thread to a version of its agent; without a version, unpin it."""
        info.context.loaders.clear()
        return SavePayload(await pin_thread(info.context.store, info.context.context, thread_uuid, agent_version_uuid or None))

    @resolver_field(EditThread)
    async def edit_thread(self, info: Info, thread_uuid: str, title: str | None = UNSET, metadata: JSON | None = UNSET) -> SavePayload:
        """Change the title and the metadata of a thread."""
        call, values = info.context, stored_arguments({"title": title, "metadata": metadata})
        call.loaders.clear()
        values |= {"metadata": _object("metadata", values["metadata"])} if "metadata" in values else {}
        saved: Thread = await edit_thread(call.store, call.context, thread_uuid, values)
        return SavePayload(saved)


def _object(name: str, value: Any) -> dict[str, Any]:
    """An object argument, or an empty object. Raises `BadField`."""
    if not value:
        return {}
    if not isinstance(value, dict):
        raise BadField(f"{name} must be an object.", details={"field": name})
    return value
