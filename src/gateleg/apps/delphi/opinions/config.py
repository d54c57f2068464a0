"""The config of the votes stage. Imports nothing heavy, because submitting a job needs only this module."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateleg.apps.delphi.opinions.modes import CHOICE, ORDER_CHOICE, Mode, Order

#: `auto` is `full` up to a million cells and `lanczos` above; both are exact. `randomized` is approximate but repeatable.
Method = Literal["auto", "full", "lanczos", "randomized"]


class VotesConfig(BaseModel):
    """The config of a PCA job, which analyses the votes of a conversation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: analyse only this number of the earliest votes
    max_votes: int | None = Field(default=None, ge=1)
    #: the number of votes that are read at a time
    batch_size: int = Field(default=50_000, ge=1)
    n_components: int = Field(default=2, ge=1, le=10)
    pca_method: Method = "auto"
    mode: Mode = Field(default="improved", description=CHOICE)
    #: the order in which exact mode takes participants into the clustering
    order: Order = Field(default="reading", description=ORDER_CHOICE)
    #: whether to build the groups over time, as in a conversation that was analysed while it ran
    replay: bool = False
    replay_updates: int = Field(default=200, ge=1, le=10_000)
    #: the share of the votes that had been cast when Polis restarted; 0 if it ran from the first vote on
    replay_from: float = Field(default=0.0, ge=0.0, le=1.0)
    #: comments to exclude, in addition to those rejected by moderation
    excluded_comments: frozenset[int] = frozenset()
    #: the number of comments whose correlations are computed; 0 for none
    correlated_comments: int = Field(default=200, ge=0, le=2_000)

    @model_validator(mode="after")
    def _orders_where_it_matters(self) -> Self:
        if self.order != "reading" and (self.mode != "exact" or self.replay):
            raise ValueError('order needs mode "exact" without replay: improved mode has many starts, a replay takes people by time')
        if self.replay_from and not self.replay:
            raise ValueError("replay_from needs replay: it says where the replay begins")
        return self
