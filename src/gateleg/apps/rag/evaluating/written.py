"""Questions of a golden set as lines of text: `question | documents | answer`. Pure."""

from __future__ import annotations

from gateleg.apps.rag.errors import BadField
from gateleg.apps.rag.evaluating.service import QuestionDraft

#: What parts of a line, and the names of documents in it, are divided by.
_PART, _NAME = "|", ";"
_MOST_PARTS = 3


def parse_questions(lines: list[str]) -> list[QuestionDraft]:
    """The questions of some lines; empty lines are left out. Documents are names or ids with semicolons between them.

    A question without documents is one that the documents do not answer. Raises `BadField` for a line that has too many parts.
    """
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split(_PART)]
        if len(parts) > _MOST_PARTS or not parts[0]:
            raise BadField(f"Line {number} is not a question: {line[:60]!r}.", fix="Write: question | documents | answer.")
        question, documents, answer = (*parts, "", "")[:_MOST_PARTS]
        names = [name.strip() for name in documents.split(_NAME) if name.strip()]
        found.append(QuestionDraft(question=question, documents=names, answer=answer or None))
    return found
