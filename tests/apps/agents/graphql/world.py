"""One of everything, made by mutations: the catalogue of the host, what a tenant has, and a conversation of one of its users."""

import base64
from dataclasses import dataclass, field
from typing import Any

from tests.apps.agents.graphql.conftest import Caller, Callers
from tests.apps.agents.graphql.operations import operation, root_fields

#: Words that stand in what a tenant has, and in what one of its users has.
TENANTS_OWN, USERS_OWN = "belongs-to-acme", "belongs-to-ann"

LLM = {"llmProvider": "ours", "llmName": "smol"}
COMPONENT = {"uiComponentType": "card"}
WIZARD_SCHEMA = {"wizardSchemaType": "form", "wizardSchemaName": "contact"}
#: What is created, in this order: the mutation, what it is given, and the ids that are kept of the answer.
CATALOGUE: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "insertUpdateLlm": (
        {**LLM, "moduleName": "gateleg", "className": "LocalHandler", "configurationSchema": {"type": "object"}},
        ("llmProvider", "llmName"),
    ),
    "insertUpdateUiComponent": (
        {**COMPONENT, "tagName": "contact-card", "parameters": [{"name": "who"}], "waitFor": "click"},
        ("uiComponentType", "uiComponentUuid"),
    ),
    "insertUpdateWizardSchema": (
        {**WIZARD_SCHEMA, "attributes": [{"name": "colour", "attributeType": "text", "required": False}], "attributeGroups": []},
        ("wizardSchemaType", "wizardSchemaName"),
    ),
}
#: Values of arguments that name what was created before.
IDS = frozenset(
    {"agentUuid", "agentVersionUuid", "promptUuid", "promptVersionUuid", "flowSnippetUuid", "flowSnippetVersionUuid", "mcpServerUuid"}
    | {"threadUuid", "runUuid", "messageUuid", "toolCallUuid", "asyncTaskUuid", "functionName", "elementUuid", "wizardUuid"}
    | {"wizardGroupUuid", "wizardGroupFilterUuid", "llmProvider", "llmName", "uiComponentType", "uiComponentUuid"}
    | {"wizardSchemaType", "wizardSchemaName"}
)


def tenants_things(ids: dict[str, str]) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
    """What a tenant has; `ids` is filled while it is created."""
    own = TENANTS_OWN
    return {
        "insertUpdateMcpServer": (
            {"mcpLabel": own, "mcpServerUrl": "https://tools.example/mcp", "headers": {"X-Api-Key": "k1", "x_plain": "1"}},
            ("mcpServerUuid",),
        ),
        "insertUpdatePromptTemplate": (
            {
                "promptType": own,
                "promptName": own,
                "templateContext": "Be kind to {name}. {flow_snippet}",
                "variables": [{"name": "name"}],
                "mcpServers": [{"mcpServerUuid": ids.get("mcpServerUuid")}],
                "uiComponents": [{"uiComponentType": ids.get("uiComponentType"), "uiComponentUuid": ids.get("uiComponentUuid")}],
            },
            ("promptUuid", "promptVersionUuid"),
        ),
        "insertUpdateFlowSnippet": (
            {"promptUuid": ids.get("promptUuid"), "flowName": own, "flowContext": "Greet {name}.", "enabledTools": ["search"]},
            ("flowSnippetUuid", "flowSnippetVersionUuid"),
        ),
        "insertUpdateAgent": (
            {
                **LLM,
                "agentName": own,
                "flowSnippetVersionUuid": ids.get("flowSnippetVersionUuid"),
                "configuration": {"maxTokens": 5, "topP": 0.5},
                "variables": [{"name": "name", "value": "Bob"}],
            },
            ("agentUuid", "agentVersionUuid"),
        ),
        "insertUpdateElement": (
            {"dataType": own, "elementTitle": own, "attributeName": "mail", "attributeType": "text", "optionValues": [{"label": own}]},
            ("elementUuid",),
        ),
        "insertUpdateWizard": (
            {
                **WIZARD_SCHEMA,
                "wizardTitle": own,
                "wizardType": own,
                "wizardAttributes": [{"name": "colour", "value": "blue"}],
                "wizardElements": [{"elementUuid": ids.get("elementUuid"), "required": True, "placeholder": own}],
            },
            ("wizardUuid",),
        ),
        "insertUpdateWizardGroup": (
            {"wizardGroupName": own, "weight": 3, "wizardUuids": [ids.get("wizardUuid")]},
            ("wizardGroupUuid",),
        ),
        "insertUpdateWizardGroupFilter": (
            {"wizardGroupFilterName": own, "region": own, "criteria": {"plan": own}, "wizardGroupUuid": ids.get("wizardGroupUuid")},
            ("wizardGroupFilterUuid",),
        ),
    }


def users_things(ids: dict[str, str]) -> dict[str, tuple[dict[str, Any], tuple[str, ...]]]:
    """What a user has; `ids` is filled while it is created."""
    own = USERS_OWN
    run = {"threadUuid": ids.get("threadUuid"), "runUuid": ids.get("runUuid")}
    return {
        "insertThread": ({"agentUuid": ids.get("agentUuid"), "userId": own}, ("threadUuid",)),
        "insertUpdateRun": ({"threadUuid": ids.get("threadUuid"), "runId": own, "promptTokens": 7, "totalTokens": 7}, ("runUuid",)),
        "insertUpdateMessage": ({**run, "role": "user", "message": own, "messageId": own}, ("messageUuid",)),
        "insertUpdateToolCall": (
            {**run, "toolCallId": own, "toolType": "function", "name": own, "arguments": "{}", "content": own},
            ("toolCallUuid",),
        ),
        "insertUpdateAsyncTask": ({"functionName": own, "arguments": {"note": own}, "result": own}, ("functionName", "asyncTaskUuid")),
    }


@dataclass
class World:
    """The ids of one of everything."""

    ids: dict[str, str] = field(default_factory=dict)
    #: what each mutation was given
    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: what each mutation answered
    written: dict[str, Any] = field(default_factory=dict)

    async def create(self, caller: Caller, name: str, given: dict[str, Any], kept: tuple[str, ...]) -> Any:
        payload = await caller.ask(operation("mutation", name, given), **given)
        (item,) = [value for key, value in payload.items() if key != "__typename"]
        self.ids |= {one: item[one] for one in kept}
        self.given[name], self.written[name] = given, item
        return item


async def make_catalogue(callers: Callers, world: World) -> None:
    """What all tenants share."""
    for name, (given, kept) in CATALOGUE.items():
        await world.create(callers.admin, name, given, kept)


async def make_world(callers: Callers) -> World:
    """The catalogue, what the tenant acme has, and what ann has."""
    world = World()
    await make_catalogue(callers, world)
    for things in (tenants_things, users_things):
        for name in things({}):
            given, kept = things(world.ids)[name]
            await world.create(callers.ann, name, given, kept)
    tuning = {
        "agentUuid": world.ids["agentUuid"],
        "messageUuid": world.ids["messageUuid"],
        "threadUuid": world.ids["threadUuid"],
        "role": "user",
        "content": TENANTS_OWN,
    }
    await world.create(callers.ann, "insertUpdateFineTuningMessage", tuning, ())
    content = base64.b64encode(USERS_OWN.encode()).decode()
    upload = {"agentUuid": world.ids["agentUuid"], "arguments": {"filename": f"{USERS_OWN}.txt", "encodedContent": content}}
    file = await world.create(callers.ann, "uploadFile", upload, ())
    world.ids["fileId"] = file["value"]
    return world


def arguments_of(world: World, kind: str, name: str) -> dict[str, Any]:
    """What a field is asked with: ids of the world, and values where it needs others."""
    field = root_fields(kind)[name]
    if name in world.given:
        # A change of what was created.
        return world.given[name] | {one: world.ids[one] for one in field.args if one in IDS and one in world.ids}
    found: dict[str, Any] = {one: world.ids[one] for one in field.args if one in IDS and one in world.ids}
    others: dict[str, Any] = _OTHERS[name](world) if name in _OTHERS else {}
    return found | others


_OTHERS: dict[str, Any] = {
    "uploadedFile": lambda world: {"arguments": {"fileId": world.ids["fileId"], "encodedContent": True}},
    "outputFile": lambda world: {"arguments": {"fileId": world.ids["fileId"]}},
    "presignedAwsS3Url": lambda world: {"objectKey": "notes/a.txt", "clientMethod": "get_object"},
    "versionPointer": lambda world: {"kind": "agent", "logicalUuid": world.ids["agentUuid"]},
    "labelVersion": lambda world: {"kind": "agent", "logicalUuid": world.ids["agentUuid"], "name": "stable"},
    "nameModel": lambda world: {"agentUuid": world.ids["agentUuid"], "modelName": "renamed"},
    "versionDifferences": lambda world: {
        "kind": "agent",
        "before": world.ids["agentVersionUuid"],
        "after": world.ids["agentVersionUuid"],
    },
    "promptPreview": lambda world: {"values": {"name": "Bob"}},
    "chosenWizardGroups": lambda world: {"region": TENANTS_OWN, "facts": {"plan": TENANTS_OWN}},
    "wizardAnswersFit": lambda world: {"answers": {"mail": "x"}},
    "editThread": lambda world: {"title": "Mine"},
    "askModel": lambda world: {"userQuery": "Who are you?"},
    "executeAskModel": lambda world: {"arguments": {}},
    "decideToolCalls": lambda world: {"decisions": [{"toolCallUuid": world.ids["toolCallUuid"], "approve": True}]},
    "insertUpdateWizardGroupWithWizards": lambda world: {
        "wizardGroupName": TENANTS_OWN,
        "wizards": [
            {
                **WIZARD_SCHEMA,
                "wizardTitle": TENANTS_OWN,
                "wizardType": "form",
                "wizardAttributes": [],
                "wizardElements": [
                    {
                        "required": False,
                        "element": {"dataType": "text", "elementTitle": "Name", "attributeName": "name", "attributeType": "text"},
                    }
                ],
            }
        ],
    },
}
