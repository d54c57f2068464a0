"""The config of the comments stage. Imports nothing heavy, because submitting a job needs only this module."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateleg.ai.addresses import check_address_form

#: The maximum number of layers that the tables hold.
MOST_LAYERS = 5
_LOCAL = frozenset({"all-MiniLM-L6-v2", "minilm"})
Metric = Literal["cosine", "euclidean", "manhattan", "chebyshev", "correlation"]


class MapConfig(BaseModel):
    """The parameters of UMAP, which lays out the map of comments."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: the number of nearest neighbours; fewer if there are fewer comments
    n_neighbors: int = Field(default=15, ge=2, le=500)
    #: the minimum distance of comments on the map
    min_dist: float = Field(default=0.1, ge=0.0, lt=1.0)
    n_components: int = Field(default=2, ge=2, le=10)
    metric: Metric = "cosine"
    random_state: int = Field(default=42, ge=0, lt=2**32)


class TopicsConfig(MapConfig):
    """The config of a UMAP job, which analyses the comments of a conversation."""

    #: the address of an embedding model, or the name of the local one
    embedding_model: str = "all-MiniLM-L6-v2"
    #: whether to reuse the vectors of the conversation's latest run for unchanged comments
    skip_embedding: bool = False
    #: the number of nearest neighbours of each comment in the search for topics
    topic_neighbors: int = Field(default=15, ge=2, le=200)
    max_layers: int = Field(default=MOST_LAYERS, ge=1, le=MOST_LAYERS)
    #: the number of nearest neighbours of each comment in the stored graph
    graph_neighbors: int = Field(default=5, ge=1, le=50)
    #: the address of a chat model that names topics; without one, names are made of keywords
    naming_model: str | None = None
    #: comments to exclude, in addition to rejected and meta comments
    excluded_comments: frozenset[int] = frozenset()

    @model_validator(mode="after")
    def _names_models(self) -> Self:
        for address in self.models:
            check_address_form(address)
        return self

    @property
    def embedding_address(self) -> str:
        """The address of the embedding model."""
        return "local:minilm" if self.embedding_model in _LOCAL else self.embedding_model

    @property
    def models(self) -> tuple[str, ...]:
        """The addresses of all models that comments are sent to."""
        return (self.embedding_address, *self.chat_models)

    @property
    def chat_models(self) -> tuple[str, ...]:
        """The addresses of chat models."""
        return () if self.naming_model is None else (self.naming_model,)
