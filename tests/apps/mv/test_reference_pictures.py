"""Reference pictures that the studio draws."""

from pathlib import Path

import numpy as np
import pytest

from gateleg.apps.mv.drawing.looks import Library
from gateleg.objects import sniff
from tests.apps.mv.served import serving
from tests.apps.mv.test_work import work

pytest.importorskip("skia")


def test_figure_stands_before_a_plain_ground(library: Library) -> None:
    from gateleg.apps.mv.reference_pictures import draw_reference

    robot, boat = (draw_reference(library, text, side=128) for text in ("a silver robot", "a small red boat"))
    assert robot.shape == (128, 128, 3)
    assert float(np.abs(robot.astype(int) - boat.astype(int)).mean()) > 5
    assert np.array_equal(robot, draw_reference(library, "a silver robot", side=128))
    middle, corner = robot[32:112, 40:88], robot[:16, :16]
    assert middle.std() > 2 * corner.std()


async def test_references_are_made_by_a_job_of_their_owner(tmp_path: Path) -> None:
    async with serving(tmp_path, f"embedded:{tmp_path}/store?durability=relaxed") as served:
        owner = served["owner"]
        body = {"characterDescription": "a silver robot", "numImages": 2}
        begun = await owner.post("/api/mv/references/generate", json=body)
        assert begun.status_code == 202, begun.text
        assert (await owner.get(f"/api/mv/jobs/{begun.json()['jobId']}")).status_code == 200
        for caller in ("stranger", "namesake"):
            assert (await served[caller].get(f"/api/mv/jobs/{begun.json()['jobId']}")).status_code == 404
        await work(served, begun.json()["jobId"])
        items = (await owner.get("/api/mv/references")).json()["items"]
        assert [(one["source"], one["description"]) for one in items] == [("studio", "a silver robot")] * 2
        assert sniff((await owner.get(items[0]["imageUrl"])).content) == "image/png"
        assert (await owner.post("/api/mv/references/generate", json={**body, "numImages": 5})).status_code == 422
