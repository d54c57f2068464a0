"""Sentences of documents that speak to a model instead of to a reader. Pure.

A document is data: whatever it says, it grants no rights (they were decided before), it calls no tools (none are offered), and what
an answer states is checked against passages. Sentences that are recognised here are, on top of that, neither shown to a model nor
used as evidence. They stay in the document and in search results, where readers see them for what they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.plain_text import to_plain_text
from gateleg.apps.rag.chunking.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A row of a table: `Column: value; Column: value`.
_ROW = re.compile(r"[^:;|\n]{1,60}: [^\n;]+; [^:;|\n]{1,60}: ")
#: What is put in the place of such a sentence.
WITHHELD = "[…]"

_INSTRUCTIONS = r"(?:instructions?|prompts?|rules?|guidelines?|directives?|context|messages?|anweisung(?:en)?|instructions?|instrucciones)"
_PATTERNS = (
    rf"\b(?:ignore|disregard|forget|override|bypass|discard|vergiss|ignoriere|ignorez|ignora)\b.{{0,60}}\b{_INSTRUCTIONS}\b",
    r"\b(?:system|developer|hidden|initial)\s+(?:prompt|message|instruction)",
    r"\byou\s+are\s+(?:now|no\s+longer)\b",
    r"\b(?:act|behave|respond|answer|reply|pretend)\s+(?:as|like)\s+(?:if\s+you|an?\s+(?:ai|assistant|unrestricted|administrator|admin|different))",
    r"\b(?:as|dear)\s+(?:an?\s+)?(?:ai|language\s+model|llm|assistant|chatbot)\b",
    r"\b(?:do\s+not|don't|never)\s+(?:tell|mention|reveal|inform|show)\b.{0,40}\b(?:user|reader|human)",
    r"\b(?:tell|inform|assure)\s+the\s+(?:user|reader|human)\b",
    r"\b(?:reveal|print|output|repeat|leak|exfiltrate|send)\b.{0,60}\b(?:prompt|secrets?|passwords?|api\s+keys?|credentials?|conversation)",
    r"\b(?:instead|only)\s+(?:say|reply|respond|answer|output|print)\b",
    r"\bnew\s+(?:instructions?|task|role)\s*:",
    r"<\s*/?\s*(?:system|assistant|user|instructions?|im_start|im_end)\b|\[/?INST\]|<\|[a-z_]+\|>",
    r"\bjailbreak\b|\bDAN\s+mode\b",
)
_SPEAKS_TO_A_MODEL = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE | re.DOTALL)


def speaks_to_a_model(sentence: str) -> bool:
    """Whether a sentence looks like an instruction to a model, with its markup or without it."""
    return _SPEAKS_TO_A_MODEL.search(sentence) is not None or _SPEAKS_TO_A_MODEL.search(to_plain_text(sentence)) is not None


def withhold(text: str) -> str:
    """A text without the sentences, and the rows of tables, that speak to a model."""
    return "".join(_withheld(line) if _ROW.match(line) else _without_sentences(line) for line in _pieces(text)).strip()


def _pieces(text: str) -> Iterator[str]:
    """The rows of a text, and what lies between them: a sentence may go over several lines, a row does not."""
    between: list[str] = []
    for line in text.splitlines(keepends=True):
        if _ROW.match(line):
            yield "".join(between)
            between = []
            yield line
        else:
            between.append(line)
    yield "".join(between)


def _withheld(row: str) -> str:
    return f"{WITHHELD}\n" if speaks_to_a_model(row) else row


def _without_sentences(text: str) -> str:
    parts = (text[start:end] for start, end in sentences(text))
    return "".join(f"{WITHHELD} " if speaks_to_a_model(part) else part for part in parts)
