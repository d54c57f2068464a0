"""Nothing crosses: every query and every mutation of the schema, asked by others for what one user and one tenant have."""

import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from gateleg.apps.agents.catalogue_tables import TABLES
from tests.apps.agents.graphql.conftest import Caller, Callers
from tests.apps.agents.graphql.operations import operation, root_fields
from tests.apps.agents.graphql.world import TENANTS_OWN, USERS_OWN, World, arguments_of, make_world

pytestmark = pytest.mark.asyncio(loop_scope="module")

#: What everybody of a tenant may see and change; a field that is new to the schema belongs to one of these sets, or the test fails.
OF_TENANT = frozenset(
    {f"{thing}{form}" for thing in ("agent", "promptTemplate", "flowSnippet", "mcpServer", "element", "wizard") for form in ("", "List")}
    | {"wizardGroup", "wizardGroupList", "wizardGroupFilter", "wizardGroupFilterList", "fineTuningMessage", "fineTuningMessageList"}
    | {
        f"{form}{thing}"
        for thing in ("Agent", "PromptTemplate", "FlowSnippet", "McpServer", "Element")
        for form in ("insertUpdate", "delete")
    }
    | {f"{form}{thing}" for thing in ("Wizard", "WizardGroup", "WizardGroupFilter") for form in ("insertUpdate", "delete")}
    | {"versionPointer", "versionDifferences", "promptPreview", "chosenWizardGroups", "wizardAnswersFit", "labelVersion", "nameModel"}
    | {"insertUpdateWizardGroupWithWizards", "deleteWizardFromWizardGroup", "insertUpdateFineTuningMessage", "deleteFineTuningMessage"}
)
#: What belongs to one user.
OF_USER = frozenset(
    {f"{thing}{form}" for thing in ("thread", "run", "message", "toolCall", "asyncTask") for form in ("", "List")}
    | {f"{form}{thing}" for thing in ("Run", "Message", "ToolCall", "AsyncTask") for form in ("insertUpdate", "delete")}
    | {"insertThread", "deleteThread", "executeAskModel", "cancelRun", "retryRun", "decideToolCalls", "runFrames"}
    | {"pinThread", "editThread"}
    | {"uploadedFile", "outputFile", "presignedAwsS3Url", "uploadFile", "askModel"}
)
#: What everybody may read, and only operators of the host write.
OF_HOST = frozenset(
    {"ping", "llm", "llmList", "uiComponent", "uiComponentList", "wizardSchema", "wizardSchemaList"}
    | {f"{form}{thing}" for thing in ("Llm", "UiComponent", "WizardSchema") for form in ("insertUpdate", "delete")}
)
KINDS = ("query", "mutation", "subscription")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(callers: Callers) -> AsyncIterator[World]:
    yield await make_world(callers)


async def test_every_field_of_the_schema_belongs_to_somebody() -> None:
    fields = {name for kind in KINDS for name in root_fields(kind)}
    assert fields == OF_TENANT | OF_USER | OF_HOST
    assert len(OF_TENANT | OF_USER | OF_HOST) == len(OF_TENANT) + len(OF_USER) + len(OF_HOST)


async def items_of(callers: Callers, part: str) -> dict[str, Any]:
    """Everything that is stored of a part, by table."""
    store, found = callers.host.store, {}
    for table in TABLES:
        rows = [item async for item in store.scan(table)]
        found[table.name] = sorted(json.dumps(item, sort_keys=True, default=str) for item in rows if f"#{part}" in str(item))
    return found


async def attempt(caller: Caller, world: World, kind: str, name: str) -> str:
    """What a caller is answered who asks for what ann has, as text."""
    given = arguments_of(world, kind, name)
    answers = [await caller.post(operation(kind, name, given), **given)]
    if name.endswith("List"):
        answers.append(await caller.post(operation(kind, name, {})))
    return json.dumps(answers if len(answers) > 1 else answers[0])


def own_words(world: World, name: str) -> list[str]:
    """What an answer would have to repeat of ann's: her words, unless they were sent along."""
    sent = json.dumps(world.given.get(name, {}))
    return [word for word in (TENANTS_OWN, USERS_OWN) if word not in sent]


@pytest.mark.parametrize("who", ["eve", "evan"])
async def test_another_tenant_sees_and_changes_nothing(callers: Callers, world: World, who: str) -> None:
    caller: Caller = getattr(callers, who)
    before = await items_of(callers, "acme")
    for kind in ("query", "mutation"):
        for name in sorted(root_fields(kind)):
            answer = await attempt(caller, world, kind, name)
            found = [word for word in (*own_words(world, name), "#acme") if word in answer]
            assert found == [], (name, answer)
    assert await items_of(callers, "acme") == before


async def test_another_user_of_the_tenant_sees_and_changes_nothing_of_ones_own(callers: Callers, world: World) -> None:
    before = await owned_by_ann(callers)
    for kind in ("query", "mutation"):
        for name in sorted(set(root_fields(kind)) & OF_USER):
            answer = await attempt(callers.bob, world, kind, name)
            assert USERS_OWN not in own_words(world, name) or USERS_OWN not in answer, (name, answer)
            # What is not to be known is not said to belong to somebody else, either.
            assert "another user" not in answer, (name, answer)
    assert await owned_by_ann(callers) == before


async def owned_by_ann(callers: Callers) -> list[str]:
    found = await items_of(callers, "acme")
    return sorted(item for items in found.values() for item in items if "acme/ann" in item)


async def test_another_user_of_the_tenant_sees_what_the_tenant_has(callers: Callers, world: World) -> None:
    unnamed = {"versionPointer", "versionDifferences", "promptPreview", "wizardAnswersFit"}
    for name in sorted((set(root_fields("query")) & OF_TENANT) - unnamed):
        assert TENANTS_OWN in await attempt(callers.bob, world, "query", name), name


@pytest.mark.parametrize("who", ["ann", "eve"])
async def test_a_member_does_not_write_the_catalogue(callers: Callers, world: World, who: str) -> None:
    for name in sorted(set(root_fields("mutation")) & OF_HOST):
        answer = json.loads(await attempt(getattr(callers, who), world, "mutation", name))
        assert [error["extensions"]["code"] for error in answer["errors"]] == ["not-a-catalogue-editor"], name
