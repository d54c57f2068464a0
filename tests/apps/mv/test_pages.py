"""The pages of music videos in a real browser."""

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, Page, expect

from gateleg.apps.mv import object_keys
from gateleg.apps.mv.application import application
from gateleg.apps.mv.scenes import SceneDraft, add_scenes, begin_scene, finish_take, next_take
from gateleg.apps.mv.tables import FinalVersion, Project, ProjectStatus, Take
from gateleg.host.host import Host
from gateleg.host.settings import load_settings
from tests.apps.mv.test_uploads import wav
from tests.conftest import chromium
from tests.web.console.conftest import Served, open_page, serving
from tests.web.console.faults import serious_faults

__all__ = ["open_page"]
pytestmark = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="there is no Chromium here")]
Open = Callable[..., Page]
HERE = ("--idle", "--application", "gateleg.apps.mv.application:application")
#: Of the widths and themes, those that differ most.
SCREENS = ((1280, True), (390, False))
ROBOT = Project(owner_id="/member", title="Austin", concept_prompt="Robot exploring Austin", character_description="Silver robot")


def _song() -> bytes:
    from dataclasses import asdict

    from gateleg.apps.mv.listening.song import analyse_sound
    from gateleg.apps.mv.music import synthesise_song

    return json.dumps(asdict(analyse_sound(synthesise_song(12.0, tempo=120.0).sound))).encode()


def _clip(path: Path) -> bytes:
    import numpy as np

    from gateleg.apps.mv.composing.encoding import Canvas, ClipWriter

    with ClipWriter(path, Canvas(64, 36, 12)) as writer:
        for number in range(24):
            writer.write(np.full((36, 64, 4), 40 + number * 8, dtype=np.uint8))
    return path.read_bytes()


async def _keep(folder: Path) -> None:
    """A finished project of a member with three scenes, of which one has two takes."""
    settings = load_settings(flags={"store": f"embedded:{folder}", "objects": f"dir:{folder}/objects", "data": folder})
    async with Host.open(settings, [application]) as host:
        store, objects, project_id = host.store, host.objects, ROBOT.project_id
        await store.create(ROBOT)
        await add_scenes(store, project_id, [SceneDraft(f"The robot sees {what}", 4.0) for what in ("a street", "a river", "the sea")])
        clip = _clip(folder / "clip.mp4")
        for sequence in (1, 1, 2, 3):
            await begin_scene(store, project_id, sequence)
            number = await next_take(store, project_id, sequence)
            key = object_keys.take_key(project_id, sequence, number)
            await objects.put(key, clip, content_type="video/mp4")
            await objects.copy(key, object_keys.scene_key(project_id, sequence))
            facts: dict[str, Any] = {"clip_s3_key": key, "prompt": "p", "provider": "studio", "duration": 4.0}
            await finish_take(store, Take(project_id=project_id, sequence=sequence, take=number, **facts))
        analysis, final = object_keys.analysis_key(project_id), object_keys.final_key(project_id)
        await objects.put(analysis, _song(), content_type="application/json")
        await objects.put(final, clip, content_type="video/mp4")
        track = object_keys.project_asset(project_id, "audio", "wav")
        await objects.put(track, wav(), content_type="audio/wav")
        await store.create(FinalVersion(project_id=project_id, number=1, video_s3_key=final, duration=12.0))
        for status in (ProjectStatus.QUEUED, ProjectStatus.COMPOSING, ProjectStatus.COMPLETED):
            await store.patch(Project, Project.status.to(status), project_id=project_id)
        done = [Project.final_version.set(1), Project.final_output_s3_key.set(final), Project.analysis_s3_key.set(analysis)]
        done += [Project.audio_backing_track_s3_key.set(track), Project.warnings.set(["The song is repeated."])]
        await store.patch(Project, *done, Project.audio_duration.set(12.0), Project.tempo.set(120.0), project_id=project_id)


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("studio")
    # Playwright has a loop in this thread already.
    with ThreadPoolExecutor(1) as aside:
        aside.submit(asyncio.run, _keep(folder)).result()
    with serving(folder, "--keys", *HERE) as served:
        yield served


def _as(studio: Served, open_page: Open, role: str, path: str, **options: Any) -> Page:
    page = open_page(f"{studio.url}{path}", **options)
    page.get_by_label("API key").fill(studio.tokens[role])
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "signin" not in url)
    return page


def test_a_member_sees_and_edits_a_project(studio: Served, open_page: Open) -> None:
    page = _as(studio, open_page, "member", "/mv")
    page.get_by_role("link", name="Austin").click()
    expect(page.get_by_role("heading", name="Austin")).to_be_visible()
    expect(page.get_by_text("The song is repeated.")).to_be_visible()
    expect(page.get_by_label("The film")).to_be_visible()
    expect(page.get_by_role("img", name="120 BPM")).to_be_visible()
    page.locator(".mv-block").nth(1).click()
    expect(page.get_by_role("heading", name="Scene 2")).to_be_visible()
    page.get_by_label("What the scene shows").fill("The robot sees a wide river")
    page.get_by_label("Lock").check()
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator(".mv-scene").nth(1)).to_contain_text("wide river")
    page.get_by_role("button", name="Move earlier").click()
    expect(page.get_by_role("heading", name="Scene 1")).to_be_visible()
    page.get_by_role("button", name="Split").click()
    expect(page.locator(".mv-scene")).to_have_count(4)
    assert serious_faults(page) == []


def test_an_earlier_take_is_used_and_a_clip_is_uploaded(studio: Served, open_page: Open) -> None:
    page = _as(studio, open_page, "member", f"/mv/{ROBOT.project_id}?scene=1")
    page.get_by_role("button", name="Use").click()
    expect(page.locator(".mv-take", has_text="Take 1")).to_contain_text("current")
    clip = FilePayload(name="own.mp4", mimeType="video/mp4", buffer=(studio.folder / "clip.mp4").read_bytes())
    form = page.locator(".mv-editor form", has=page.locator('input[accept="video/*"]'))
    form.locator("input[type=file]").set_input_files(clip)
    form.get_by_role("button", name="Upload").click()
    expect(page.locator(".mv-take", has_text="Take 3")).to_contain_text("upload")


def test_a_new_video_is_begun_with_its_song(studio: Served, open_page: Open) -> None:
    page = _as(studio, open_page, "member", "/mv/new")
    page.get_by_label("What the video is about").fill("A boat on a blue sea")
    page.get_by_label("Main character or object").fill("A small red boat")
    page.get_by_text("Neon noir").click()
    page.locator("input[type=file]").first.set_input_files(FilePayload(name="song.wav", mimeType="audio/wav", buffer=wav()))
    assert serious_faults(page) == []
    page.get_by_role("button", name="Make the video").click()
    expect(page.get_by_text("A boat on a blue sea")).to_be_visible()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The job was cancelled.")).to_be_visible()


def test_a_project_is_kept_as_a_template_and_another_is_made_of_it(studio: Served, open_page: Open) -> None:
    page = _as(studio, open_page, "member", "/mv/templates")
    expect(page.get_by_text("No templates yet")).to_be_visible()
    page.goto(f"{studio.url}/mv/{ROBOT.project_id}")
    page.get_by_role("button", name="Save as template").click()
    page.get_by_role("dialog").get_by_label("Name").first.fill("City walks")
    page.get_by_label("Placeholders").fill("city = Austin")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    expect(page.get_by_text("placeholders: city")).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_role("button", name="Use").click()
    page.get_by_role("dialog").get_by_label("city").fill("Lisbon")
    page.get_by_role("button", name="Create video").click()
    expect(page.get_by_text("Robot exploring Lisbon")).to_be_visible()
    page.goto(f"{studio.url}/mv/templates")
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No templates yet")).to_be_visible()


def test_strangers_find_nothing_and_viewers_look(studio: Served, open_page: Open) -> None:
    viewer = _as(studio, open_page, "viewer", f"/mv/{ROBOT.project_id}?scene=1")
    expect(viewer.get_by_role("heading", name="Austin")).to_be_visible()
    expect(viewer.get_by_role("button", name="Delete")).to_have_count(0)
    expect(viewer.get_by_role("button", name="Save")).to_have_count(0)
    viewer.goto(f"{studio.url}/mv")
    expect(viewer.get_by_label("Projects by status")).to_be_visible()
    viewer.goto(f"{studio.url}/mv/{ROBOT.model_copy(update={'project_id': '0'}).project_id}")
    expect(viewer.get_by_role("heading", name="There is no such video").first).to_be_visible()


def test_some_scenes_are_made_again(studio: Served, open_page: Open) -> None:
    page = _as(studio, open_page, "member", f"/mv/{ROBOT.project_id}")
    page.get_by_role("button", name="Make again").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="None").click()
    expect(dialog.get_by_role("checkbox").first).not_to_be_checked()
    dialog.get_by_role("button", name="Make again").click()
    expect(page.get_by_text("No scene is selected, so nothing was started.")).to_be_visible()
    page.get_by_role("button", name="Make again").click()
    dialog.get_by_role("button", name="None").click()
    expect(dialog.get_by_role("checkbox").first).not_to_be_checked()
    dialog.get_by_role("checkbox").first.check()
    assert serious_faults(page) == []
    dialog.get_by_role("button", name="Make again").click()
    expect(page.get_by_text("Waiting for a worker")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_text("The job was cancelled.")).to_be_visible()


@pytest.mark.sweep
@pytest.mark.parametrize(("width", "dark"), SCREENS)
@pytest.mark.parametrize("path", ["", "/new", f"/{ROBOT.project_id}?scene=3"], ids=["list", "new", "project"])
def test_every_page_is_for_everybody_on_every_screen(studio: Served, open_page: Open, path: str, width: int, dark: bool) -> None:
    page = _as(studio, open_page, "member", f"/mv{path}", width=width, dark=dark)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".mv-card, .mv-create, .mv-editor").first).to_be_visible()
    assert serious_faults(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
