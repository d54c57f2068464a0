"""How the comments of a conversation are analysed. Nothing that computes is loaded for it: who submits a job needs no more."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateleg.ai.addresses import parse_model_address

#: The tables have room for so many.
MOST_LAYERS = 5
_LOCAL = frozenset({"all-MiniLM-L6-v2", "minilm"})
Metric = Literal["cosine", "euclidean", "manhattan", "chebyshev", "correlation"]


class MapConfig(BaseModel):
    """How comments are laid out: the parameters of UMAP."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: how many nearest others are kept near; at most one less than there are comments
    n_neighbors: int = Field(default=15, ge=2, le=500)
    #: how close together comments may lie
    min_dist: float = Field(default=0.1, ge=0.0, lt=1.0)
    n_components: int = Field(default=2, ge=2, le=10)
    metric: Metric = "cosine"
    random_state: int = Field(default=42, ge=0, lt=2**32)


class TopicsConfig(MapConfig):
    """How the comments of a conversation are analysed: the config of a UMAP job."""

    #: the address of an embedding model, or the name of the local one
    embedding_model: str = "all-MiniLM-L6-v2"
    #: whether the vectors of the conversation's latest run are used again, as far as comments are the same
    skip_embedding: bool = False
    #: how many nearest others each comment is compared with when topics are looked for
    topic_neighbors: int = Field(default=15, ge=2, le=200)
    max_layers: int = Field(default=MOST_LAYERS, ge=1, le=MOST_LAYERS)
    #: how many nearest others of each comment the graph holds
    graph_neighbors: int = Field(default=5, ge=1, le=50)
    #: the address of a chat model that names topics; without one they are named by keywords
    naming_model: str | None = None
    #: comments to be taken out beside the rejected and the meta ones
    excluded_comments: frozenset[int] = frozenset()

    @model_validator(mode="after")
    def _names_models(self) -> Self:
        for address in self.models:
            parse_model_address(address)
        return self

    @property
    def embedding_address(self) -> str:
        """The address of the embedding model."""
        return "local:minilm" if self.embedding_model in _LOCAL else self.embedding_model

    @property
    def models(self) -> tuple[str, ...]:
        """The addresses of all models that comments are sent to."""
        return (self.embedding_address,) if self.naming_model is None else (self.embedding_address, self.naming_model)
