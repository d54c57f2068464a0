"""Parse the questions of a golden set from lines of text: `question | documents | answer`. Pure."""

from __future__ import annotations

from gateleg.apps.rag.errors import BadValue
from gateleg.apps.rag.evaluating.service import QuestionDraft

#: Separators of the parts of a line, and of document names.
_PART, _NAME = "|", ";"
_MOST_PARTS = 3


def parse_questions(lines: list[str]) -> list[QuestionDraft]:
    """Parse one question from each line that is not empty. Documents are names or ids, separated by semicolons.

    A question without documents should be refused. Raises `BadValue` for a line with too many parts.
    """
    found = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split(_PART)]
        if len(parts) > _MOST_PARTS or not parts[0]:
            raise BadValue(f"Line {number} is not a valid question: {line[:60]!r}.", fix="Write: question | documents | answer.")
        question, documents, answer = (*parts, "", "")[:_MOST_PARTS]
        names = [name.strip() for name in documents.split(_NAME) if name.strip()]
        found.append(QuestionDraft(question=question, documents=names, answer=answer or None))
    return found
