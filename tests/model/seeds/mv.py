"""Music videos: projects and their scenes in one table."""

from datetime import datetime
from uuid import UUID

from gateleg.model import (
    ANY,
    GSI,
    Attr,
    Collection,
    Counter,
    Entity,
    Key,
    Pattern,
    S3Key,
    States,
    Table,
    Version,
    field,
    new_uuid,
    stamp,
    state,
)

projects = Table(
    "MVProjects",
    hash="PK",
    range="SK",
    tag="entityType",
    indexes=[GSI("status-created-index", hash="GSI1PK", range="GSI1SK")],
)


class ProjectStatus(States):
    """From a concept to the finished video."""

    PENDING = state("pending", to=["generating_scenes", "queued"])
    GENERATING_SCENES = state("generating_scenes", to=["processing", "queued"])
    PROCESSING = state("processing", to=["composing", "queued"])
    COMPOSING = state("composing", to=["completed"])
    QUEUED = state("queued", to=["pending", "generating_scenes", "processing"])
    COMPLETED = state("completed")
    FAILED = state("failed", from_=ANY)


class SceneStatus(States):
    """From a prompt to a clip."""

    PENDING = state("pending", to=["processing", "failed"])
    PROCESSING = state("processing", to=["completed", "failed"])
    COMPLETED = state("completed")
    FAILED = state("failed")


class Project(Entity, table=projects, tag="project", case="camel"):
    """A music video in the making."""

    project_id: Attr[UUID] = new_uuid()
    status: Attr[ProjectStatus] = field(ProjectStatus.PENDING)
    concept_prompt: Attr[str]
    character_description: Attr[str]
    character_image_s3_key: Attr[S3Key | None] = field(None)
    product_description: Attr[str | None] = field(None)
    product_image_s3_key: Attr[S3Key | None] = field(None)
    audio_backing_track_s3_key: Attr[S3Key | None] = field(None)
    final_output_s3_key: Attr[S3Key | None] = field(None)
    scene_count: Attr[int] = field(0, ge=0)
    completed_scenes: Attr[int] = field(0, ge=0)
    failed_scenes: Attr[int] = field(0, ge=0)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")
    version: Attr[Version] = field(0)

    key = Key("PROJECT#{project_id}", "METADATA")
    status_key = Key("{status}", "{created_at}", index="status-created-index")
    by_status = Pattern("status-created-index", title="Projects in a status, oldest first")
    recent = Pattern("status-created-index", title="Projects in a status, newest first", order="desc")


class Scene(Entity, table=projects, tag="scene", case="camel"):
    """One scene of a project."""

    project_id: Attr[UUID]
    #: 1-based; the key has room for 999
    sequence: Attr[int]
    status: Attr[SceneStatus] = field(SceneStatus.PENDING)
    prompt: Attr[str]
    negative_prompt: Attr[str | None] = field(None)
    duration: Attr[float]
    reference_image_s3_keys: Attr[list[S3Key]] = field(factory=list)
    audio_clip_s3_key: Attr[S3Key | None] = field(None)
    video_clip_s3_key: Attr[S3Key | None] = field(None)
    needs_lip_sync: Attr[bool] = field(False)
    lip_synced_video_clip_s3_key: Attr[S3Key | None] = field(None)
    retry_count: Attr[int] = field(0)
    error_message: Attr[str | None] = field(None)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")

    key = Key("PROJECT#{project_id}", "SCENE#{sequence:03d}")
    in_project = Pattern(title="The scenes of a project, in order")
    counted = Counter(Project.scene_count)
    completed = Counter(Project.completed_scenes, when={"status": ["completed"]})
    failed = Counter(Project.failed_scenes, when={"status": ["failed"]})


project_with_scenes = Collection(Project, Scene, title="A project and its scenes")
