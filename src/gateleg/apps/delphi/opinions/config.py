"""How the votes of a conversation are analysed. Nothing that computes is loaded for it: who submits a job needs no more."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateleg.apps.delphi.opinions.modes import CHOICE, ORDER_CHOICE, Mode, Order

#: `auto` is `full` up to a million cells and `lanczos` above; both are exact. `randomized` is approximate and repeatable.
Method = Literal["auto", "full", "lanczos", "randomized"]


class VotesConfig(BaseModel):
    """How the votes of a conversation are analysed: the config of a PCA job."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: at most this many of the earliest votes
    max_votes: int | None = Field(default=None, ge=1)
    #: votes that are read at a time
    batch_size: int = Field(default=50_000, ge=1)
    n_components: int = Field(default=2, ge=1, le=10)
    pca_method: Method = "auto"
    mode: Mode = Field(default="improved", description=CHOICE)
    #: the order in which exact mode takes participants into the clustering
    order: Order = Field(default="reading", description=ORDER_CHOICE)
    #: whether groups come about over time, as in a conversation that was analysed while it ran
    replay: bool = False
    replay_updates: int = Field(default=200, ge=1, le=10_000)
    #: the share of the votes that was there when Polis was started anew; 0 for a conversation that it has followed from the first vote
    replay_from: float = Field(default=0.0, ge=0.0, le=1.0)
    #: comments to be taken out beside the moderated ones
    excluded_comments: frozenset[int] = frozenset()
    #: comments that are correlated with each other; 0 leaves correlations out
    correlated_comments: int = Field(default=200, ge=0, le=2_000)

    @model_validator(mode="after")
    def _orders_where_it_matters(self) -> Self:
        if self.order != "reading" and (self.mode != "exact" or self.replay):
            raise ValueError('order is for mode "exact" without replay: improved mode has many beginnings, a replay takes people by time')
        if self.replay_from and not self.replay:
            raise ValueError("replay_from is for a replay: it says when it begins")
        return self
