"""The job types of pipelines: their names, what they are asked for and what they answer."""

from pydantic import BaseModel, ConfigDict, Field

RUN_PIPELINE, FOLLOW_PIPELINES = "rag.pipeline", "rag.pipelines"


class PipelineConfig(BaseModel):
    """One look of a pipeline."""

    model_config = ConfigDict(extra="forbid")

    repository_id: str
    #: the collection that has the pipeline; None for one of the repository
    owner_collection: str | None = None
    pipeline_id: str
    #: say what would be done, and do nothing
    dry_run: bool = False
    #: also while it is paused, and also objects that have not changed since the last look
    now: bool = False


class PipelineResult(BaseModel):
    """What a pipeline has found and done. The lists have the first hundred keys."""

    found: int = 0
    ingested: int = 0
    removed: int = 0
    unchanged: int = 0
    #: of those, how many could not be ingested; a look that is asked for tries them again
    failed: int = 0
    #: objects that its patterns leave out
    left_out: int = 0
    to_ingest: list[str] = Field(default_factory=list)
    to_remove: list[str] = Field(default_factory=list)
    dry_run: bool = False
    note: str = ""


class FollowedPipelines(BaseModel):
    """How many pipelines there are, and how many of them got a new schedule."""

    pipelines: int = 0
    scheduled: int = 0
