"""The item that the data layers are measured with: a scene of a music video, thirty flat attributes, about 1.6 KB on the wire."""

from datetime import UTC, datetime
from typing import Any

from gateleg.model import Attr, Entity, Key, Pattern, Table, field

TABLE = "Scenes"
WHEN = datetime(2026, 3, 1, 10, 0, 0, 123456, tzinfo=UTC)

#: Every attribute but the keys, with the value it has.
VALUES: dict[str, Any] = {
    "project_id": "0f8fad5b-d9cb-469f-a165-70867728950e",
    "sequence": 7,
    "status": "completed",
    "prompt": "A singer walks through a field of tall grass at dusk, the camera slowly circling, lanterns in the distance",
    "negative_prompt": "text, watermark, extra limbs",
    "style": "film grain, anamorphic, muted colours",
    "camera": "slow orbit, 35 mm",
    "duration": 5.5,
    "seed": 912_391_882,
    "fps": 24,
    "width": 1920,
    "height": 1080,
    "guidance": 7.25,
    "reference_images": ["mv/projects/0f8fad5b/images/character.png", "mv/projects/0f8fad5b/images/product.png"],
    "audio_clip": "mv/projects/0f8fad5b/audio/scene-007.mp3",
    "video_clip": "mv/projects/0f8fad5b/video/scene-007.mp4",
    "lip_synced_clip": "mv/projects/0f8fad5b/video/scene-007-synced.mp4",
    "needs_lip_sync": True,
    "approved": False,
    "retry_count": 1,
    "max_retries": 3,
    "model": "video-large-2",
    "provider": "example",
    "job_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "cost": 0.125,
    "notes": "The second take is better: the lanterns are lit from the beginning.",
    "created_at": WHEN,
    "updated_at": WHEN,
}
HASH = f"PROJECT#{VALUES['project_id']}"
RANGE = f"SCENE#{VALUES['sequence']:03d}"

scenes = Table(TABLE, hash="PK", range="SK")


class Scene(Entity, table=scenes):
    """One scene; its keys are made from its attributes."""

    project_id: Attr[str]
    sequence: Attr[int]
    status: Attr[str]
    prompt: Attr[str]
    negative_prompt: Attr[str | None] = field(None)
    style: Attr[str]
    camera: Attr[str]
    duration: Attr[float]
    seed: Attr[int]
    fps: Attr[int]
    width: Attr[int]
    height: Attr[int]
    guidance: Attr[float]
    reference_images: Attr[list[str]]
    audio_clip: Attr[str | None] = field(None)
    video_clip: Attr[str | None] = field(None)
    lip_synced_clip: Attr[str | None] = field(None)
    needs_lip_sync: Attr[bool]
    approved: Attr[bool]
    retry_count: Attr[int]
    max_retries: Attr[int]
    model: Attr[str]
    provider: Attr[str]
    job_id: Attr[str]
    cost: Attr[float]
    notes: Attr[str | None] = field(None)
    created_at: Attr[datetime]
    updated_at: Attr[datetime]

    key = Key("PROJECT#{project_id}", "SCENE#{sequence:03d}")
    in_project = Pattern(title="The scenes of a project, in order")
