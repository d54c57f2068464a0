"""Request bodies for new repositories and collections, and for changes to them. Names are in camel case; unknown names are refused.

A field that is sent as null is cleared; a field that is not sent keeps its value.
"""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from gateleg.apps.rag.tables import LONGEST_NAME, MOST_GROUPS, MOST_PIPELINES, MOST_TAGS, CollectionStatus, Pipeline

_CAMEL = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid")


class Draft(BaseModel):
    """A request body."""

    model_config = _CAMEL

    def sent(self) -> dict[str, Any]:
        """The fields that were sent, by their Python names."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class MetadataDraft(Draft):
    """Tags and custom fields."""

    tags: list[str] = Field(default_factory=list, max_length=MOST_TAGS)
    custom_fields: dict[str, Any] = Field(default_factory=dict)


class PipelineDraft(Draft):
    """A pipeline."""

    auto_remove: bool = True
    chunk_overlap: int | None = Field(default=None, ge=0)
    chunk_size: int | None = Field(default=None, ge=0)
    s3_bucket: str = Field(default="", max_length=200)
    s3_prefix: str = Field(default="", max_length=1_024)
    trigger: str = Field(default="event", pattern="^(event|schedule|daily)$")
    pipeline_id: str | None = Field(default=None, min_length=1, max_length=100)
    collection_id: str | None = Field(default=None, max_length=200)
    chunking_strategy: dict[str, Any] | None = None
    metadata: MetadataDraft | None = None
    folder: str | None = Field(default=None, max_length=1_024)
    cron: str | None = Field(default=None, max_length=200)
    timezone: str | None = Field(default=None, max_length=100)
    include: list[str] = Field(default_factory=list, max_length=50)
    exclude: list[str] = Field(default_factory=list, max_length=50)
    paused: bool = False
    #: clients of the public system send it; a pipeline uses the model of its collection
    embedding_model: str | None = Field(default=None, max_length=500)

    def pipeline(self) -> Pipeline:
        """The pipeline in its stored form."""
        given = self.model_dump(exclude_none=True, by_alias=False, exclude={"embedding_model"})
        return Pipeline(**given)


class NewRepository(Draft):
    """A new repository. The host's embedding model applies if `embeddingModelId` is missing."""

    repository_id: str
    repository_name: str | None = Field(default=None, min_length=1, max_length=LONGEST_NAME)
    description: str | None = Field(default=None, max_length=2_000)
    embedding_model_id: str | None = Field(default=None, min_length=1, max_length=200)
    type: str = Field(default="embedded", min_length=1, max_length=50)
    allowed_groups: list[str] | None = Field(default=None, max_length=MOST_GROUPS)
    allow_user_collections: bool = True
    metadata: MetadataDraft | None = None
    pipelines: list[PipelineDraft] | None = Field(default=None, max_length=MOST_PIPELINES)
    #: if set, only members of this tenant can see the repository
    tenant: str | None = Field(default=None, min_length=1, max_length=200)


class RepositoryChanges(Draft):
    """Changes to a repository. The last four fields are immutable: they may be sent only with their current values."""

    repository_name: str | None = Field(default=None, min_length=1, max_length=LONGEST_NAME)
    description: str | None = Field(default=None, max_length=2_000)
    allowed_groups: list[str] | None = Field(default=None, max_length=MOST_GROUPS)
    allow_user_collections: bool | None = None
    metadata: MetadataDraft | None = None
    pipelines: list[PipelineDraft] | None = Field(default=None, max_length=MOST_PIPELINES)

    repository_id: Any = None
    embedding_model_id: Any = None
    type: Any = None
    tenant: Any = None


class NewCollection(Draft):
    """A new collection. The repository's embedding model and groups apply if `embeddingModel` or `allowedGroups` is missing."""

    name: str
    description: str | None = Field(default=None, max_length=2_000)
    embedding_model: str | None = Field(default=None, min_length=1, max_length=200)
    chunking_strategy: dict[str, Any] | None = None
    allow_chunking_override: bool = True
    metadata: MetadataDraft | None = None
    allowed_groups: list[str] | None = Field(default=None, max_length=MOST_GROUPS)
    private: bool = False
    pipelines: list[PipelineDraft] | None = Field(default=None, max_length=MOST_PIPELINES)


class CollectionChanges(Draft):
    """Changes to a collection. `status` archives or restores it. The fields from `collection_id` on are immutable: they may be sent only
    with their current values."""

    name: str | None = None
    description: str | None = Field(default=None, max_length=2_000)
    chunking_strategy: dict[str, Any] | None = None
    allow_chunking_override: bool | None = None
    metadata: MetadataDraft | None = None
    allowed_groups: list[str] | None = Field(default=None, max_length=MOST_GROUPS)
    private: bool | None = None
    pipelines: list[PipelineDraft] | None = Field(default=None, max_length=MOST_PIPELINES)
    status: CollectionStatus | None = None

    collection_id: Any = None
    repository_id: Any = None
    embedding_model: Any = None
    created_by: Any = None
    created_at: Any = None
    updated_at: Any = None
    default: Any = None
