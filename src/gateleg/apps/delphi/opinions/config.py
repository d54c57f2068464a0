"""How the votes of a conversation are analysed. Nothing that computes is loaded for it: who submits a job needs no more."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from gateleg.apps.delphi.opinions.modes import CHOICE, Mode

#: `auto` is `full` up to a million cells and `lanczos` above; both are exact. `randomized` is approximate and repeatable.
Method = Literal["auto", "full", "lanczos", "randomized"]


class VotesConfig(BaseModel):
    """How the votes of a conversation are analysed: the config of a PCA job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: only so many of the earliest votes
    max_votes: int | None = Field(default=None, ge=1)
    #: votes that are read at a time
    batch_size: int = Field(default=50_000, ge=1)
    n_components: int = Field(default=2, ge=1, le=10)
    pca_method: Method = "auto"
    mode: Mode = Field(default="improved", description=CHOICE)
    #: whether groups come about over time, as in a conversation that was analysed while it ran
    replay: bool = False
    replay_updates: int = Field(default=100, ge=1, le=10_000)
    #: comments to be taken out beside the moderated ones
    excluded_comments: frozenset[int] = frozenset()
    #: comments that are correlated with each other; 0 leaves correlations out
    correlated_comments: int = Field(default=200, ge=0, le=2_000)
