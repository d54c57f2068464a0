"""A conversation: its comments, the votes on them, its topic and description."""

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
    #: -1 rejected by a moderator, 1 accepted, 0 not moderated
    moderated: int = 0
    #: about the voters rather than about the subject
    is_meta: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Conversation:
    """The input of an analysis."""

    conversation_id: str
    votes: Votes
    comments: Sequence[Comment]
    topic: str = ""
    description: str = ""
    #: participants whom a moderator has excluded with their votes
    removed_participants: frozenset[int] = frozenset()
    #: the other rows of the export's summary, as text
    summary: dict[str, str] = field(default_factory=dict)

    def counted_votes(self, most: int | None = None) -> Votes:
        """The votes of participants who are not excluded; at most the earliest `most` of them."""
        cast = self.votes.without(self.removed_participants)
        return cast if most is None else cast.first(most)
