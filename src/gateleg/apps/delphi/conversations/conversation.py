"""A conversation: its comments, the votes on them, and what its owner says about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from gateleg.apps.delphi.conversations.votes import Votes


@dataclass(frozen=True, slots=True)
class Comment:
    """A statement that participants vote on."""

    comment_id: int
    body: str
    author_id: int | None = None
    created_at: datetime | None = None
    #: -1 rejected by a moderator, 1 accepted, 0 not reviewed
    moderated: int = 0
    #: about the voters rather than about the subject
    is_meta: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Conversation:
    """What goes into an analysis."""

    conversation_id: str
    votes: Votes
    comments: Sequence[Comment]
    topic: str = ""
    description: str = ""
    #: participants whose votes a moderator has taken out
    removed_participants: frozenset[int] = frozenset()
    #: the other figures of the export's summary, as they stand there
    summary: dict[str, str] = field(default_factory=dict)

    def counted_votes(self, most: int | None = None) -> Votes:
        """The votes of participants who are not taken out; the earliest `most` of them."""
        cast = self.votes.without(self.removed_participants)
        return cast if most is None else cast.first(most)
