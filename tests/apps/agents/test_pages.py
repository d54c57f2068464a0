"""The pages of agents in a real browser."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.conftest import chromium
from tests.web.console.conftest import Served, open_page, serving
from tests.web.console.faults import serious_faults

__all__ = ["open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]
Open = Callable[..., Page]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("agents"), "--keys", "--application", "gateleg.apps.agents.application:application") as served:
        yield served


def _as(engine: Served, open_page: Open, role: str, path: str, **options: Any) -> Page:
    page = open_page(f"{engine.url}{path}", **options)
    page.get_by_label("API key").fill(engine.tokens[role])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "signin" not in url)
    return page


def _create(page: Page, engine: Served, name: str) -> None:
    page.goto(f"{engine.url}/agents/new")
    page.get_by_role("textbox", name="Name").fill(name)
    page.get_by_role("textbox", name="Instructions").fill("Answer in one short sentence.")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def test_an_agent_is_created_changed_and_asked(engine: Served, open_page: Open) -> None:
    page = _as(engine, open_page, "member", "/agents")
    _create(page, engine, "Helper")
    page.get_by_role("link", name="New version").click()
    page.get_by_role("textbox", name="Instructions").fill("Answer in French.")
    page.get_by_role("button", name="Save as active version").click()
    expect(page.locator("ins", has_text="Answer in French.")).to_be_visible()
    page.get_by_role("button", name="Use this version").click()
    expect(page.locator("article", has_text="Version 1")).to_contain_text("Active")
    assert serious_faults(page) == []
    page.get_by_role("link", name="New thread").click()
    page.get_by_label("Your message").fill("Say hello.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_text("Answered", exact=True)).to_be_visible(timeout=60_000)
    expect(page.locator(".agents-message.theirs")).to_be_visible()
    assert serious_faults(page) == []
    page.goto(f"{engine.url}/agents?tab=runs")
    expect(page.get_by_text("Answered", exact=True)).to_be_visible()


def test_threads_of_others_are_not_there(engine: Served, open_page: Open) -> None:
    owner = _as(engine, open_page, "operator", "/agents")
    _create(owner, engine, "Private helper")
    owner.get_by_role("link", name="New thread").click()
    owner.get_by_label("Your message").fill("What is our secret?")
    owner.get_by_role("button", name="Send").click()
    owner.wait_for_url(lambda url: "/thread/" in url and "/new" not in url)
    member = _as(engine, open_page, "member", owner.url.removeprefix(engine.url))
    expect(member.get_by_role("heading", name="There is no such thread").first).to_be_visible()
    viewer = _as(engine, open_page, "viewer", owner.url.removeprefix(engine.url))
    expect(viewer.get_by_role("heading", name="What is our secret?")).to_be_visible()
    expect(viewer.get_by_role("button", name="Send")).to_have_count(0)


def test_a_prompt_is_previewed_changed_and_used_by_a_flow(engine: Served, open_page: Open) -> None:
    page = _as(engine, open_page, "member", "/agents/prompt/new")
    page.get_by_role("textbox", name="Name").fill("Greeting")
    page.get_by_role("textbox", name="Template").fill("Greet {count} people.\n{flow_snippet}")
    page.get_by_role("textbox", name="Variables").fill('[{"name": "count", "type": "integer"}]')
    page.get_by_role("button", name="Create").click()
    page.get_by_role("textbox", name="count").fill("many")
    expect(page.get_by_text("count must be an integer, got a string.")).to_be_visible()
    page.get_by_role("textbox", name="count").fill("12")
    expect(page.get_by_label("Rendered text")).to_contain_text("Greet 12 people.")
    assert serious_faults(page) == []
    page.get_by_role("link", name="New version").click()
    page.get_by_role("textbox", name="Template").fill("Greet {count} guests.\n{flow_snippet}")
    page.get_by_role("button", name="Save as active version").click()
    expect(page.locator("ins", has_text="Greet {count} guests.")).to_be_visible()
    page.goto(f"{engine.url}/agents/flow/new")
    page.get_by_role("textbox", name="Name").fill("Welcome")
    page.get_by_role("textbox", name="Text").fill("Then ask for a name.")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_label("Rendered text")).to_contain_text("Then ask for a name.")


def test_those_who_run_the_host_enter_a_tenant_and_stay_in_it(engine: Served, open_page: Open) -> None:
    page = _as(engine, open_page, "operator", "/agents?tab=tenants")
    page.get_by_role("textbox", name="Tenant").fill("acme")
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_text("Tenant acme, endpoint local")).to_be_visible()
    page.get_by_role("link", name="Usage").click()
    expect(page.get_by_text("Nothing was used")).to_be_visible()
    page.reload()
    expect(page.get_by_text("Tenant acme, endpoint local")).to_be_visible()
    assert serious_faults(page) == []
    member = _as(engine, open_page, "member", "/agents")
    expect(member.get_by_role("link", name="Usage")).to_be_visible()
    expect(member.get_by_role("link", name="Tenants")).to_have_count(0)
