"""Detect prompt injection: sentences of documents that address a model instead of a reader. Pure.

This is an additional defence. A document cannot grant rights, because they are decided before, or call tools, because the model has none;
and answers are checked against passages. Detected sentences are withheld from the model and never used as evidence. Readers still see them
in the document and in search results.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gateleg.apps.rag.answering.plain_text import to_plain_text
from gateleg.apps.rag.chunking.sentences import sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A table row: `Column: value; Column: value`.
_ROW = re.compile(r"[^:;|\n]{1,60}: [^\n;]+; [^:;|\n]{1,60}: ")
#: The replacement of a withheld sentence.
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


def is_injection(sentence: str) -> bool:
    """Whether a sentence looks like an instruction to a model, with or without its markup."""
    return _SPEAKS_TO_A_MODEL.search(sentence) is not None or _SPEAKS_TO_A_MODEL.search(to_plain_text(sentence)) is not None


def remove_injections(text: str) -> str:
    """Replace the sentences and table rows of a text that address a model."""
    return "".join(_withheld(line) if _ROW.match(line) else _without_sentences(line) for line in _pieces(text)).strip()


def _pieces(text: str) -> Iterator[str]:
    """Split a text into table rows, which are one line each, and the text between them."""
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
    return f"{WITHHELD}\n" if is_injection(row) else row


def _without_sentences(text: str) -> str:
    parts = (text[start:end] for start, end in sentences(text))
    return "".join(f"{WITHHELD} " if is_injection(part) else part for part in parts)
