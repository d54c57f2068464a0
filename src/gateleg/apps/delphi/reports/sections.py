"""The text of a report: sections, paragraphs, sentences and clauses, each clause with the comments that it cites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Iterator


class Clause(BaseModel):
    """The smallest unit that can be true or false, with the comments that it cites."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str = Field(min_length=1, max_length=2_000)
    citations: tuple[int, ...] = Field(default=(), max_length=50)


class Sentence(BaseModel):
    """Clauses that form one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    clauses: tuple[Clause, ...] = Field(min_length=1, max_length=20)


class Paragraph(BaseModel):
    """A paragraph of sentences, with an optional title."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    title: str = ""
    sentences: tuple[Sentence, ...] = Field(max_length=50)


class Section(BaseModel):
    """A section of the report: overview, groups, common ground, uncertainty, or one topic."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    #: `overview`, `groups`, `group_informed_consensus`, `uncertainty`, or a topic's key
    id: str
    title: str
    paragraphs: tuple[Paragraph, ...] = Field(max_length=50)

    def clauses(self) -> Iterator[Clause]:
        """All clauses, in order."""
        for paragraph in self.paragraphs:
            for sentence in paragraph.sentences:
                yield from sentence.clauses

    @property
    def text(self) -> str:
        """The whole section as plain text."""
        blocks = [" ".join(" ".join(clause.text for clause in sentence.clauses) for sentence in part.sentences) for part in self.paragraphs]
        return "\n\n".join(blocks)


def sentence(*clauses: Clause | tuple[str, tuple[int, ...]] | str) -> Sentence:
    """Create a sentence from clauses: also texts, or pairs of a text and the comments that it cites."""
    return Sentence(clauses=tuple(_clause(one) for one in clauses))


def _clause(given: Clause | tuple[str, tuple[int, ...]] | str) -> Clause:
    if isinstance(given, Clause):
        return given
    return Clause(text=given) if isinstance(given, str) else Clause(text=given[0], citations=given[1])


def number_of(count: int, noun: str) -> str:
    """A number of things, such as `1 vote` or `1,200 votes`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
