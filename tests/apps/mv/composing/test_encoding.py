from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gateleg.apps.mv.composing.encoding import Canvas, ClipWriter

if TYPE_CHECKING:
    from pathlib import Path

SMALL = Canvas(32, 18)


def leave_behind(dice: np.random.Generator) -> None:
    """Fill memory and free it, so that whoever reads what they did not write reads something else each time."""
    for size in dice.choice([64, 300, 600, 900, 1500, 3000, 20_000, 70_000, 300_000], 30):
        np.empty(int(size), dtype=np.uint8).fill(int(dice.integers(256)))


def test_equal_frames_become_equal_files_whatever_lies_in_memory(tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    scenery = np.cumsum(np.cumsum(dice.normal(size=(220, 300, 4)), 0), 1)
    scenery = ((scenery - scenery.min()) / np.ptp(scenery) * 215).astype(np.uint8)
    frames = [scenery[at : at + 18, 2 * at : 2 * at + 32] + dice.integers(0, 40, (18, 32, 4), dtype=np.uint8) for at in range(50)]
    made = set()
    for _ in range(40):
        with ClipWriter(tmp_path / "clip.mp4", SMALL) as writer:
            for frame in frames:
                leave_behind(dice)
                writer.write(np.ascontiguousarray(frame))
        made.add((tmp_path / "clip.mp4").read_bytes())
    assert len(made) == 1
