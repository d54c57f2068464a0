"""The job types of pipelines, with their configs and results."""

from pydantic import BaseModel, ConfigDict, Field

RUN_PIPELINE, FOLLOW_PIPELINES = "rag.pipeline", "rag.pipelines"


class PipelineConfig(BaseModel):
    """The config of one run of a pipeline."""

    model_config = ConfigDict(extra="forbid")

    repository_id: str
    #: the collection that declares the pipeline; None if the repository does
    owner_collection: str | None = None
    pipeline_id: str
    #: only report what would be done
    dry_run: bool = False
    #: run even if the pipeline is paused, and compare all objects, including those that have not changed since the last run
    now: bool = False


class PipelineResult(BaseModel):
    """The result of a run. The lists contain the first hundred keys."""

    found: int = 0
    ingested: int = 0
    removed: int = 0
    unchanged: int = 0
    #: the unchanged objects whose ingestion has failed; a run started by hand retries them
    failed: int = 0
    #: objects that the patterns exclude
    left_out: int = 0
    to_ingest: list[str] = Field(default_factory=list)
    to_remove: list[str] = Field(default_factory=list)
    dry_run: bool = False
    note: str = ""


class FollowedPipelines(BaseModel):
    """The number of pipelines, and of new or changed schedules."""

    pipelines: int = 0
    scheduled: int = 0
