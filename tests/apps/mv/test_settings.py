"""The settings of the application, in force."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateleg.apps.mv.settings import MVSettings
from gateleg.apps.mv.work import mv_jobs
from tests.apps.mv.served import serving


async def test_projects_begin_as_the_settings_say(tmp_path: Path) -> None:
    async with serving(tmp_path, director="neon-noir", resolution=480) as served:
        usual, chosen = await served.create(), await served.create(resolution=720, directorConfig="Wes Anderson")
        assert (usual["directorConfig"], usual["resolution"]) == ("neon-noir", 480)
        assert (chosen["directorConfig"], chosen["resolution"]) == ("pastel-symmetry", 720)


async def test_a_project_has_as_many_scenes_as_the_settings_permit(tmp_path: Path) -> None:
    async with serving(tmp_path, most_scenes=1) as served:
        where = f"/api/mv/projects/{(await served.create())['projectId']}/scenes"
        answers = [await served["owner"].post(where, json={"sceneConcept": "x"}) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [201, 409]
        assert "limit is 1" in answers[1].json()["error"]["message"]
        assert (await served["owner"].post(f"{where}/1/split", json={"at": 1})).status_code == 409


async def test_links_are_valid_as_long_as_the_settings_say(tmp_path: Path) -> None:
    async with serving(tmp_path, link_seconds=20, renders_per_worker=3) as served:
        from gateleg.apps.mv.web.views import Links

        resources = served.host.resources["mv"]
        assert isinstance(resources.settings, MVSettings)
        link = await Links(resources.objects, resources.settings.link_seconds).url("mv/x.png")
        later = await Links(resources.objects, 2000).url("mv/x.png")
        assert link != later
        render = next(one for one in mv_jobs(resources) if one.job_type == "mv.render")
        assert render.limit_per_worker == 3


async def test_unknown_directors_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="no director preset"):
        MVSettings(director="nobody")
    async with serving(tmp_path) as served:
        made = await served.create()
        body = {"prompt": "x", "characterDescription": "y", "directorConfig": "nobody"}
        assert (await served["owner"].post("/api/mv/projects", json=body)).json()["error"]["code"] == "unknown-preset"
        changed = await served["owner"].patch(f"/api/mv/projects/{made['projectId']}", json={"directorConfig": "nobody"})
        assert changed.status_code == 422
