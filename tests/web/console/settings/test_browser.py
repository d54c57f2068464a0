"""Secrets and webhooks in a real browser, by an admin of the host."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.console.conftest import Served

pytestmark = pytest.mark.browser
OpenPage = Callable[..., Page]


def test_a_secret_is_set_replaced_and_deleted_and_its_value_is_on_no_page(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/settings?tab=secrets&application=reels", dark=True)
    page.get_by_role("button", name="Set a secret").click()
    page.get_by_label("Name").fill("smtp")
    page.get_by_label("Value").fill("correct horse")
    page.get_by_role("button", name="Set", exact=True).click()
    # A notification has the opposite colours of the page: dark text in the dark theme.
    expect(page.locator(".q-notification__message").first).to_have_css("color", re.compile(r"rgb\((\d{1,2}, ){2}\d{1,2}\)"))
    secrets = page.get_by_role("region", name="Secrets")
    expect(secrets.get_by_text("smtp")).to_be_visible()
    secrets.get_by_role("button", name="Replace").click()
    page.get_by_label("Value").fill("battery staple")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(secrets.get_by_role("cell", name="2", exact=True)).to_be_visible()
    assert "staple" not in page.content()
    secrets.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No secrets yet")).to_be_visible()


def test_secrets_are_re_encrypted_with_the_former_secret_of_the_host(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/settings?tab=secrets&application=reels")
    page.get_by_role("button", name="Re-encrypt").click()
    dialog = page.get_by_role("dialog", name="Re-encrypt")
    dialog.get_by_label("The former secret of the host").fill("short")
    dialog.get_by_role("button", name="Re-encrypt").click()
    expect(dialog.get_by_role("alert")).to_contain_text("16 bytes or more")
    dialog.get_by_label("The former secret of the host").fill("the former secret of the host")
    dialog.get_by_role("button", name="Re-encrypt").click()
    expect(page.get_by_text("0 secrets of reels re-encrypted")).to_be_visible()


def test_a_webhook_is_added_switched_off_and_deleted(served: Served, open_page: OpenPage) -> None:
    page = open_page(f"{served.url}/settings?tab=webhooks&application=reels&tenant=acme", width=390)
    page.get_by_role("button", name="Add a webhook").click()
    page.get_by_label("Address").fill("http://127.0.0.1/hook")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("is not public").first).to_be_visible()
    page.get_by_label("Address").fill("https://example.com/hook")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("whsec_")).to_be_visible()
    page.get_by_role("button", name="I have copied it").click()
    page.get_by_role("button", name="Disable").click()
    expect(page.get_by_role("button", name="Enable")).to_be_visible()
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No webhooks yet")).to_be_visible()
