"""The pages about objects in a real browser."""

import base64
import re
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from gateleg.host.tables import AuditEntry
from gateleg.objects import open_objects
from tests.web.console.conftest import Served
from tests.web.console.faults import serious_faults
from tests.web.console.objects.pictures import png

pytestmark = pytest.mark.browser
Open = Callable[..., Page]


def keys_of(served: Served) -> list[str]:
    """What a host has stored."""
    objects = open_objects(f"dir:{served.folder}/objects")
    try:
        return [entry.key for entry in objects.walk()]
    finally:
        objects.close()


def test_folders_lead_to_a_picture_that_is_shown(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects")
    page.get_by_role("link", name="covers/").click()
    page.get_by_role("link", name="solaris.png").click()
    picture = page.get_by_role("img", name="solaris.png")
    expect(picture).to_be_visible()
    page.wait_for_function("document.querySelector('.preview img').naturalWidth === 64")
    expect(page.get_by_role("region", name="Properties")).to_contain_text("covers/solaris.png")
    page.get_by_role("link", name="covers", exact=True).click()
    expect(page.get_by_role("link", name="old/")).to_be_visible()


def test_a_page_is_shown_in_a_room_of_its_own(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects?key=reports/page.html")
    inside = page.frame_locator(".preview iframe")
    expect(inside.get_by_role("heading", name="Report")).to_be_visible()
    expect(inside.get_by_text("it ran, from null")).to_be_visible()


def test_json_is_laid_out(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects?key=reports/summary.json")
    expect(page.locator(".preview pre")).to_have_text('{\n  "books": 12\n}')


#: A film of some frames, as the browser itself records them: no other program need be there to make one.
_RECORD = """async () => {
  const canvas = Object.assign(document.createElement('canvas'), { width: 96, height: 64 });
  const brush = canvas.getContext('2d');
  const stream = canvas.captureStream(0);
  const recorder = new MediaRecorder(stream, { mimeType: 'video/webm;codecs=vp8' });
  const parts = [];
  recorder.ondataavailable = (event) => parts.push(event.data);
  const stopped = new Promise((done) => (recorder.onstop = done));
  recorder.start();
  for (let at = 0; at < 30; at++) {
    brush.fillStyle = `hsl(${at * 12} 80% 50%)`;
    brush.fillRect(0, 0, 96, 64);
    stream.getVideoTracks()[0].requestFrame();
    await new Promise((next) => requestAnimationFrame(next));
  }
  recorder.stop();
  await stopped;
  const bytes = new Uint8Array(await new Blob(parts).arrayBuffer());
  return btoa(String.fromCharCode(...bytes));
}"""


def plays(page: Page, element: str) -> None:
    """Play what is on a page, and wait until some of it was played."""
    page.wait_for_selector(element)
    page.evaluate(f"() => {{ const one = document.querySelector('{element}'); one.muted = true; return one.play(); }}")
    page.wait_for_function(f"document.querySelector('{element}').currentTime > 0.05")
    assert page.evaluate(f"document.querySelector('{element}').error") is None


def test_a_sound_plays(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects?key=sounds/bell.wav")
    page.wait_for_function("Math.round(document.querySelector('audio').duration) === 1")
    plays(page, ".preview audio")


def test_a_film_plays(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects")
    objects = open_objects(f"dir:{objects_host.folder}/objects")
    objects.put("films/colours.webm", base64.b64decode(page.evaluate(_RECORD)))
    objects.close()
    page.goto(objects_host.url + "/objects?key=films/colours.webm")
    plays(page, ".preview video")
    assert page.evaluate("[...document.querySelectorAll('video')].map((one) => [one.videoWidth, one.videoHeight])") == [[96, 64]]


def test_a_sound_is_played_from_its_middle(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects?key=sounds/bell.wav")
    page.wait_for_selector(".preview audio")
    page.evaluate("() => { document.querySelector('audio').currentTime = 0.5; }")
    page.wait_for_function("!document.querySelector('audio').seeking && document.querySelector('audio').currentTime >= 0.5")


def test_a_link_can_be_read_by_whoever_has_it(guarded_objects: Served, open_page: Open) -> None:
    page = open_page(guarded_objects.url + "/objects?key=notes.txt")
    page.get_by_label("key", exact=False).fill(guarded_objects.tokens["viewer"])
    page.get_by_role("button", name=re.compile("sign in", re.IGNORECASE)).click()
    expect(page.locator(".preview pre")).to_have_text("hello")
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    page.get_by_role("button", name="Create a link").click()
    link = page.get_by_role("region", name="Share a link").locator("pre")
    expect(link).to_contain_text("signature=")
    with urllib.request.urlopen(link.inner_text()) as answer:
        assert answer.read() == b"hello\n"
    page.goto(guarded_objects.url + "/objects")
    expect(page.get_by_role("link", name="notes.txt")).to_be_visible()
    expect(page.get_by_role("region", name="Upload")).to_have_count(0)


def test_files_are_uploaded_checked_and_deleted(objects_host: Served, open_page: Open, tmp_path: Path) -> None:
    right, wrong = tmp_path / "new.png", tmp_path / "false.png"
    right.write_bytes(png())
    wrong.write_bytes(b"<script>")
    page = open_page(objects_host.url + "/objects?prefix=uploads/")
    expect(page.get_by_text("This folder is empty")).to_be_visible()
    page.locator("input[type=file]").set_input_files([right, wrong])
    expect(page.get_by_text("was stored")).to_be_visible()
    expect(page.get_by_role("alert")).to_contain_text("but its content is something else")
    assert "uploads/new.png" in keys_of(objects_host)
    assert "uploads/false.png" not in keys_of(objects_host)
    page.goto(objects_host.url + "/objects?key=uploads/new.png")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("prefix=uploads"))
    assert "uploads/new.png" not in keys_of(objects_host)
    with objects_host.store() as store:
        actions = [entry.action for entry in store.query(AuditEntry.by_actor, actor="local")]
    assert {"object.put", "object.delete"} <= set(actions)


def test_an_object_that_is_not_there_is_said(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects?key=covers/nothing.png")
    expect(page.get_by_text("Object not found")).to_be_visible()
    page.goto(objects_host.url + "/objects?key=../secret")
    expect(page.get_by_text("Object not found")).to_be_visible()


def test_axe_finds_nothing_serious(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects")
    found = {}
    for path in ("/objects", "/objects?key=covers/solaris.png", "/objects?key=reports/summary.json", "/objects?key=sounds/bell.wav"):
        page.goto(objects_host.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if faults := serious_faults(page):
            found[path] = faults
    assert found == {}


def test_pages_fit_a_phone(objects_host: Served, open_page: Open) -> None:
    page = open_page(objects_host.url + "/objects", width=390, height=844)
    for path in ("/objects", "/objects?key=covers/solaris.png", "/objects?key=reports/page.html"):
        page.goto(objects_host.url + path)
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
