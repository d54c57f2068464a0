"""Items of the old layout, as the public engine writes them."""

from datetime import UTC, datetime, timedelta
from typing import Any

ACME, GLOBEX = "acme-corp-prod", "globex-prod"
START = datetime(2025, 1, 1, tzinfo=UTC)


def old_time(minute: int) -> dict[str, str]:
    """A time as the public engine writes it."""
    return {"S": (START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%S.%f+0000")}


def old_data(endpoint: str, count: int = 2) -> list[tuple[str, dict[str, Any]]]:
    """Items of an endpoint in the nine old tables, as the public engine writes them, by table."""

    def stamped(minute: int, **attributes: Any) -> dict[str, Any]:
        times = {"created_at": old_time(minute), "updated_at": old_time(minute), "updated_by": {"S": "setup"}}
        return {"endpoint_id": {"S": endpoint}, **times, **attributes}

    found: list[tuple[str, dict[str, Any]]] = []

    def add(table: str, item: dict[str, Any]) -> None:
        found.append((f"aace-{table}-by-endpoint", item))

    for number in range(count):
        text = {name: {"S": f"{name}-{number}"} for name in ("server", "prompt", "flow", "agent", "element", "wizard", "group", "filter")}
        named = {"M": {"mcp_server_uuid": text["server"]}}
        headers = {"M": {"x_api_key": {"S": "k"}}}
        add(
            "mcp_servers",
            stamped(number, mcp_server_uuid=text["server"], mcp_label={"S": "S"}, mcp_server_url={"S": "https://x.test"}, headers=headers),
        )
        prompt = {"prompt_uuid": text["prompt"], "prompt_type": {"S": "t"}, "prompt_name": {"S": "P"}, "template_context": {"S": "Hi"}}
        lists = {"variables": {"L": []}, "ui_components": {"L": []}, "mcp_servers": {"L": [named]}}
        add("prompt_templates", stamped(number, prompt_version_uuid={"S": f"pv-{number}"}, status={"S": "active"}, **prompt, **lists))
        flow = {"flow_snippet_uuid": text["flow"], "prompt_uuid": text["prompt"], "flow_name": {"S": "F"}, "flow_context": {"S": "do"}}
        add("flow_snippets", stamped(number, flow_snippet_version_uuid={"S": f"fv-{number}"}, status={"S": "active"}, **flow))
        for version in range(3):
            # Two of three are active: the public engine does not prevent it.
            agent = {
                "agent_version_uuid": {"S": f"{number:04d}{version:016d}"},
                "agent_uuid": text["agent"],
                "agent_name": {"S": f"Agent {version}"},
                "llm_provider": {"S": "openai"},
                "llm_name": {"S": "gpt"},
                "configuration": {"M": {"temperature": {"N": "0.5"}, "max_tokens": {"N": "5"}}},
                "num_of_messages": {"N": "10"},
                "tool_call_role": {"S": "developer"},
                "flow_snippet_version_uuid": {"S": f"fv-{number}"},
                "mcp_server_uuids": {"L": [text["server"]]},
                "status": {"S": "inactive" if version == 0 else "active"},
            }
            add("agents", stamped(number + version, **agent))
        thread = {"thread_uuid": {"S": f"thread-{number}"}, "agent_uuid": text["agent"], "created_at": old_time(number)}
        user = {"user_id": {"S": f"user-{number}"}} if number % 2 else {}
        add("threads", {"endpoint_id": {"S": endpoint}, **thread, **user})
        element = {"data_type": {"S": "text"}, "element_title": {"S": "E"}, "attribute_name": {"S": "a"}, "attribute_type": {"S": "string"}}
        more = {"priority": {"N": "0"}, "option_values": {"L": []}, "conditions": {"L": []}, "pattern": {"S": ""}}
        add("elements", stamped(number, element_uuid=text["element"], **element, **more))
        entry = {"M": {"element_uuid": text["element"], "required": {"BOOL": True}, "placeholder": {"S": ""}}}
        schema = {"wizard_schema_type": {"S": "crm"}, "wizard_schema_name": {"S": "contact"}, "wizard_attributes": {"L": []}}
        wizard = {
            "wizard_uuid": text["wizard"],
            "wizard_title": {"S": "W"},
            "wizard_type": {"S": "form"},
            "wizard_elements": {"L": [entry]},
        }
        add("wizards", stamped(number, **wizard, **schema, priority={"N": "1"}))
        add(
            "wizard_groups",
            stamped(
                number,
                wizard_group_uuid=text["group"],
                wizard_group_name={"S": "G"},
                weight={"N": "2"},
                wizard_uuids={"L": [text["wizard"]]},
            ),
        )
        chosen = {"wizard_group_filter_uuid": text["filter"], "wizard_group_filter_name": {"S": "X"}, "region": {"S": "eu"}}
        add("wizard_group_filters", stamped(number, **chosen, criteria={"M": {}}, weight={"N": "0"}, wizard_group_uuid=text["group"]))
    return found
