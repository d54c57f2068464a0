"""Which comments moderation excludes from the analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.apps.delphi.conversations.conversation import Comment
    from gateleg.apps.delphi.conversations.votes import Flags, Ints


@dataclass(frozen=True, slots=True)
class Moderation:
    """The ids of moderated comments."""

    #: rejected, meta, or excluded by the config: their votes are counted but influence neither the map nor the groups
    out: frozenset[int] = frozenset()
    #: accepted, or meta
    accepted: frozenset[int] = frozenset()
    #: about the voters rather than about the subject
    meta: frozenset[int] = frozenset()

    @classmethod
    def of(cls, comments: Iterable[Comment], excluded: Iterable[int] = ()) -> Moderation:
        """The moderation that follows from the flags of comments."""
        listed = list(comments)
        meta = frozenset(comment.comment_id for comment in listed if comment.is_meta)
        rejected = frozenset(comment.comment_id for comment in listed if comment.moderated == -1)
        accepted = frozenset(comment.comment_id for comment in listed if comment.moderated == 1)
        return cls(rejected | meta | frozenset(excluded), accepted | meta, meta)

    def out_of(self, comments: Ints) -> Flags:
        """Whether each comment is excluded."""
        return np.isin(comments, np.fromiter(self.out, dtype=np.int64))

    def meta_of(self, comments: Ints) -> Flags:
        """Whether each comment is meta."""
        return np.isin(comments, np.fromiter(self.meta, dtype=np.int64))
