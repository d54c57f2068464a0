"""Music videos in one table: projects, their scenes, the takes of a scene, the versions of the final film, references and templates.

The table, its keys, its index `status-created-index` and the attributes of projects and scenes are those of the public schema. This
application adds the owner, the order of the scenes, takes, versions, reference pictures and templates.
"""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from gateleg.errors import NOT_BLANK
from gateleg.model import (
    ANY,
    GSI,
    Attr,
    Collection,
    Counter,
    Entity,
    Key,
    Pattern,
    Record,
    S3Key,
    States,
    Table,
    Version,
    field,
    new_uuid,
    required,
    stamp,
    state,
)

projects_table = Table(
    "MVProjects",
    hash="PK",
    range="SK",
    tag="entityType",
    indexes=[
        GSI("status-created-index", hash="GSI1PK", range="GSI1SK"),
        GSI("owner-created-index", hash="GSI2PK", range="GSI2SK"),
    ],
)
TABLES = (projects_table,)
#: The keys of scenes and takes have three digits.
MAX_SCENES = 999
MAX_TAKES = 999
#: The number of reference pictures of a scene.
MAX_REFERENCES = 3


class Mode(StrEnum):
    """The purpose of a project."""

    MUSIC_VIDEO = "music-video"
    AD_CREATIVE = "ad-creative"


class ProjectStatus(States):
    """The status of a project. A completed or failed project may be started again."""

    PENDING = state("pending", to=["generating_scenes", "queued"])
    GENERATING_SCENES = state("generating_scenes", to=["processing", "queued"])
    PROCESSING = state("processing", to=["composing", "queued"])
    COMPOSING = state("composing", to=["completed"])
    QUEUED = state("queued", to=["pending", "generating_scenes", "processing", "composing"])
    COMPLETED = state("completed", to=["generating_scenes", "processing", "composing", "queued"])
    FAILED = state("failed", from_=ANY, to=["generating_scenes", "processing", "composing", "queued"])


class SceneStatus(States):
    """The status of a scene. A completed or failed scene is processed again for lip-sync, another take or a retry."""

    PENDING = state("pending", to=["processing", "failed"])
    PROCESSING = state("processing", to=["completed", "failed"])
    COMPLETED = state("completed", to=["processing"])
    FAILED = state("failed", to=["processing"])


class TrimPoints(Record):
    """The part of a clip that plays, in seconds."""

    start: Attr[float] = required(name="in", ge=0)
    end: Attr[float] = required(name="out", gt=0)


class Project(Entity, table=projects_table, tag="project", case="camel"):
    """A music video project."""

    project_id: Attr[UUID] = new_uuid()
    status: Attr[ProjectStatus] = field(ProjectStatus.PENDING)
    concept_prompt: Attr[str] = required(min_length=1, max_length=2_000, pattern=NOT_BLANK)
    #: required for music videos
    character_description: Attr[str | None] = field(None, max_length=2_000, pattern=NOT_BLANK)
    character_image_s3_key: Attr[S3Key | None] = field(None)
    product_description: Attr[str | None] = field(None, max_length=2_000, pattern=NOT_BLANK)
    product_image_s3_key: Attr[S3Key | None] = field(None)
    audio_backing_track_s3_key: Attr[S3Key | None] = field(None)
    final_output_s3_key: Attr[S3Key | None] = field(None)
    scene_count: Attr[int] = field(0, ge=0)
    completed_scenes: Attr[int] = field(0, ge=0)
    failed_scenes: Attr[int] = field(0, ge=0)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")

    #: `Principal.owner` of the creator
    owner_id: Attr[str] = required(read_only=True)
    title: Attr[str] = field("", max_length=200)
    mode: Attr[Mode] = field(Mode.MUSIC_VIDEO)
    director_config: Attr[str | None] = field(None, max_length=100)
    #: sequence numbers of the scenes, in playing order
    scene_order: Attr[list[int]] = field(factory=list, max_length=MAX_SCENES)
    #: the highest sequence number ever assigned; numbers are not reused
    last_sequence: Attr[int] = field(0, ge=0, le=MAX_SCENES)
    provider: Attr[str] = field("studio", max_length=100)
    seed: Attr[int] = field(0, ge=0)
    aspect_ratio: Attr[str] = field("16:9", pattern=r"^(16:9|9:16|1:1)$")
    #: pixels of the shorter side; 480 is a draft
    resolution: Attr[int] = field(720, ge=144, le=2160)
    fps: Attr[int] = field(24, ge=12, le=60)
    lyrics_s3_key: Attr[S3Key | None] = field(None)
    #: the analysis of the track
    analysis_s3_key: Attr[S3Key | None] = field(None)
    #: the ETag of the track's object, which tells one track from the next under the same key
    audio_tag: Attr[str | None] = field(None, max_length=200)
    audio_duration: Attr[float | None] = field(None, gt=0)
    tempo: Attr[float | None] = field(None, gt=0)
    #: the active job of the whole project
    root_job_id: Attr[UUID | None] = field(None)
    error_message: Attr[str | None] = field(None, max_length=2_000)
    #: the maximum cost of models, in US dollars
    spend_cap: Attr[float | None] = field(None, ge=0)
    #: the number of the current film
    final_version: Attr[int] = field(0, ge=0)
    version: Attr[Version] = field(0)

    key = Key("PROJECT#{project_id}", "METADATA")
    status_key = Key("{status}", "{created_at}", index="status-created-index")
    owner_key = Key("PROJECTS#{owner_id}", "{created_at}", index="owner-created-index")
    by_status = Pattern("status-created-index", title="Projects in a status, oldest first")
    recent = Pattern("status-created-index", title="Projects in a status, newest first", order="desc")
    of_owner = Pattern("owner-created-index", title="The projects of an owner, newest first", order="desc")


class Scene(Entity, table=projects_table, tag="scene", case="camel"):
    """One scene of a project. Its position is in the project's `scene_order`."""

    project_id: Attr[UUID]
    #: the scene's permanent number, counted from 1 and never reused
    sequence: Attr[int] = required(ge=1, le=MAX_SCENES)
    status: Attr[SceneStatus] = field(SceneStatus.PENDING)
    prompt: Attr[str] = required(min_length=1, max_length=5_000, pattern=NOT_BLANK)
    negative_prompt: Attr[str | None] = field(None, max_length=1_000)
    #: the length in seconds
    duration: Attr[float] = required(gt=0, le=600)
    reference_image_s3_keys: Attr[list[S3Key]] = field(factory=list, max_length=MAX_REFERENCES)
    audio_clip_s3_key: Attr[S3Key | None] = field(None)
    #: the current clip
    video_clip_s3_key: Attr[S3Key | None] = field(None)
    needs_lip_sync: Attr[bool] = field(False)
    lip_synced_video_clip_s3_key: Attr[S3Key | None] = field(None)
    retry_count: Attr[int] = field(0, ge=0)
    error_message: Attr[str | None] = field(None, max_length=2_000)
    created_at: Attr[datetime] = stamp(on="create")
    updated_at: Attr[datetime] = stamp(on="write")

    #: the untrimmed clip as it was rendered, generated or uploaded
    original_video_clip_s3_key: Attr[S3Key | None] = field(None)
    #: a still image of the current clip
    still_s3_key: Attr[S3Key | None] = field(None)
    #: the clip with its trim applied
    working_video_clip_s3_key: Attr[S3Key | None] = field(None)
    trim_points: Attr[TrimPoints | None] = field(None)
    #: the provider of the clip, if it differs from the project's
    provider: Attr[str | None] = field(None, max_length=100)
    seed: Attr[int | None] = field(None, ge=0)
    #: the rest of the scene's plan: shot, camera, light, section, transition
    plan: Attr[dict[str, str | float | bool]] = field(factory=dict)
    #: a locked scene keeps its clip when the project is rendered again
    locked: Attr[bool] = field(False)
    #: the number of the current take, and the highest number ever assigned
    take: Attr[int] = field(0, ge=0)
    last_take: Attr[int] = field(0, ge=0, le=MAX_TAKES)
    video_generation_job_id: Attr[UUID | None] = field(None)
    lipsync_job_id: Attr[UUID | None] = field(None)
    #: what the lip-synced clip was made from: `playing.lip_sync_source`
    lip_sync_source: Attr[str | None] = field(None, max_length=64)
    version: Attr[Version] = field(0)

    key = Key("PROJECT#{project_id}", "SCENE#{sequence:03d}")
    in_project = Pattern(title="The scenes of a project, by sequence")
    counted = Counter(Project.scene_count)
    completed = Counter(Project.completed_scenes, when={"status": [SceneStatus.COMPLETED]})
    failed = Counter(Project.failed_scenes, when={"status": [SceneStatus.FAILED]})


class Take(Entity, table=projects_table, tag="take", case="camel"):
    """One clip that was rendered, generated or uploaded for a scene."""

    project_id: Attr[UUID]
    sequence: Attr[int] = required(ge=1, le=MAX_SCENES)
    take: Attr[int] = required(ge=1, le=MAX_TAKES)
    clip_s3_key: Attr[S3Key]
    #: a still image of the clip
    still_s3_key: Attr[S3Key | None] = field(None)
    prompt: Attr[str]
    provider: Attr[str]
    duration: Attr[float] = required(gt=0)
    seed: Attr[int | None] = field(None)
    #: the cost in US dollars
    cost: Attr[float] = field(0.0, ge=0)
    job_id: Attr[UUID | None] = field(None)
    created_at: Attr[datetime] = stamp(on="create")

    key = Key("PROJECT#{project_id}", "TAKE#{sequence:03d}#{take:03d}")
    in_project = Pattern(title="The takes of a project, by scene")
    of_scene = Pattern(by=["project_id", "sequence"], title="The takes of a scene, newest first", order="desc")


class FinalVersion(Entity, table=projects_table, tag="final", case="camel"):
    """One composed film of a project, with its companion files."""

    project_id: Attr[UUID]
    number: Attr[int] = required(ge=1, le=9_999)
    video_s3_key: Attr[S3Key]
    duration: Attr[float] = required(gt=0)
    #: companion files by name, such as "9:16", "poster", "contact-sheet", "captions", "edit-list"
    companions: Attr[dict[str, S3Key]] = field(factory=dict)
    #: the scenes and takes that it shows, in playing order
    scenes: Attr[list[str]] = field(factory=list, max_length=MAX_SCENES)
    job_id: Attr[UUID | None] = field(None)
    created_at: Attr[datetime] = stamp(on="create")

    key = Key("PROJECT#{project_id}", "FINAL#{number:04d}")
    of_project = Pattern(title="The final films of a project, newest first", order="desc")


class Reference(Entity, table=projects_table, tag="reference", case="camel"):
    """A reference picture of a character or product."""

    reference_id: Attr[UUID] = new_uuid()
    owner_id: Attr[str] = required(read_only=True)
    image_s3_key: Attr[S3Key]
    description: Attr[str] = field("", max_length=2_000)
    #: "upload", or the provider that generated it
    source: Attr[str] = field("upload")
    created_at: Attr[datetime] = stamp(on="create")

    key = Key("REFERENCE#{reference_id}", "METADATA")
    owner_key = Key("REFERENCES#{owner_id}", "{created_at}", index="owner-created-index")
    of_owner = Pattern("owner-created-index", title="The references of an owner, newest first", order="desc")


class Template(Entity, table=projects_table, tag="template", case="camel"):
    """The options and scene texts of a project, for similar projects. Its texts may contain `{placeholders}`."""

    template_id: Attr[UUID] = new_uuid()
    owner_id: Attr[str] = required(read_only=True)
    name: Attr[str] = required(min_length=1, max_length=100)
    project: Attr[dict[str, str | int | float | bool | None]] = field(factory=dict)
    scenes: Attr[list[dict[str, str | float | bool | None]]] = field(factory=list, max_length=MAX_SCENES)
    created_at: Attr[datetime] = stamp(on="create")

    key = Key("TEMPLATE#{template_id}", "METADATA")
    owner_key = Key("TEMPLATES#{owner_id}", "{created_at}", index="owner-created-index")
    of_owner = Pattern("owner-created-index", title="The templates of an owner, newest first", order="desc")


project_with_scenes = Collection(Project, Scene, title="A project and its scenes")
