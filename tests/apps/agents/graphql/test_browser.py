"""The page for trying queries in a real browser, served by a host that has nothing but its own files."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.conftest import chromium
from tests.web.console.conftest import Served, serving
from tests.web.console.faults import serious_faults

pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("agents"), "--idle", "--application", "gateleg.apps.agents.application:application") as served:
        yield served


@pytest.fixture
def page(browser: Browser, served: Served) -> Iterator[Page]:
    context = browser.new_context(reduced_motion="reduce")
    served.sign_in(context)
    page = context.new_page()
    page.set_default_timeout(20_000)
    foreign: list[str] = []
    page.on("request", lambda request: foreign.append(request.url) if not request.url.startswith((served.url, "data:")) else None)
    page.goto(f"{served.url}/graphql")
    expect(page.get_by_text("agentList: AgentListType!")).to_be_visible()
    yield page
    assert foreign == []
    context.close()


def test_a_query_is_run_and_answered(page: Page) -> None:
    page.get_by_role("button", name="Run").click()
    expect(page.locator("#answer")).to_contain_text('"total": 0')
    expect(page.get_by_role("status")).to_contain_text("ms")
    assert serious_faults(page) == []


def test_a_field_is_found_in_the_schema_and_inserted(page: Page) -> None:
    page.get_by_label("Find a field or a type").fill("insertUpdateLlm")
    page.get_by_text("insertUpdateLlm: InsertUpdateLlm").click()
    page.get_by_role("button", name="Insert").click()
    expect(page.get_by_label("Query")).to_have_value(
        "mutation insertUpdateLlm($llmName: String!, $llmProvider: String!, $className: String, $configurationSchema: JSONCamelCase, "
        "$moduleName: String, $updatedBy: String) {\n"
        "  insertUpdateLlm(llmName: $llmName, llmProvider: $llmProvider, className: $className, configurationSchema: $configurationSchema, "
        "moduleName: $moduleName, updatedBy: $updatedBy) {\n    llm {\n"
        + "".join(
            f"      {name}\n"
            for name in ("updatedBy", "createdAt", "updatedAt", "llmProvider", "llmName", "moduleName", "className", "configurationSchema")
        )
        + "    }\n  }\n}\n"
    )
    variables = '{"llmName": "smol", "llmProvider": "local", "moduleName": "gateleg", "className": "LocalHandler"}'
    page.get_by_label("Variables (JSON)").fill(variables)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer")).to_contain_text('"llmName": "smol"')


def test_an_error_is_shown_with_its_code(page: Page) -> None:
    page.get_by_label("Query").fill("{ nothing }")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer")).to_contain_text('"code": "bad-query"')
    expect(page.get_by_role("status")).to_contain_text("1 error(s)")


def test_a_subscription_is_followed_over_a_websocket(page: Page) -> None:
    page.get_by_label("Query").fill('subscription { runFrames(threadUuid: "gone", runUuid: "gone") { index } }')
    page.keyboard.press("Control+Enter")
    expect(page.locator("#answer")).to_contain_text('"code": "not-found-in-partition"')
    expect(page.get_by_role("status")).to_contain_text("Ended")
