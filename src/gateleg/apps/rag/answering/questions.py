"""Parse a question into its subjects, its significant words and the expected answer type. Questions in other languages than English have
only words. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gateleg.apps.rag.answering.support import facts_of
from gateleg.apps.rag.answering.vocabulary import AUXILIARIES, DETERMINERS, FUNCTION, GENERIC, INVERTING
from gateleg.apps.rag.index.analysis import analyse, fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: The expected answer type: a number, a time, a colour, ...
AnswerType = Literal[
    "name", "number", "phone", "mail", "count", "time", "day", "duration", "frequency", "colour", "place", "reason", "steps", "definition"
]

_TOKEN = re.compile(r"[^\W_][\w'’.:/-]*[^\W_]|[^\W_]|[?!,;()]")
_POSSESSIVE = re.compile(r"['’]s$")
_ENGLISH = re.compile(
    r"^\W*(?:and |but |so |then |or |in |on |at |for |to |from |by |with |of |up )*(?:what|which|who|whom|whose|when|where|why|how|is|are|"
    r"was|were|do|does|did|has|have|can|could|will|would|should|may|must|tell|show|list|explain|describe|give|name)\b",
    re.IGNORECASE,
)
_ADJECTIVES = "much|heavy|tall|high|wide|deep|big|large|old|far|fast|loud|hot|warm|cold|thick|strong|expensive|bright|short|small"
_QUANTITIES = (
    "price|cost|fee|weight|height|width|depth|size|age|budget|speed|salary|capacity|power|limit|extension|pressure|temperature|"
    "rent|discount"
)
_EXTREMES = "maximum|minimum|maximal|minimal|highest|lowest|largest|smallest|greatest|total|average"
_ANSWER_TYPES: tuple[tuple[AnswerType, str], ...] = (
    ("count", r"\bhow many\b"),
    ("frequency", r"\bhow (?:often|frequently|regularly)\b"),
    ("duration", r"\bhow long\b|\b(?:duration|period) of\b"),
    ("phone", r"\b(?:phone|telephone|fax|mobile) numbers?\b"),
    ("mail", r"\be-?mail address(?:es)?\b"),
    ("number", rf"\bhow (?:{_ADJECTIVES})\b"),
    ("number", rf"\bwhat (?:is|are|was|were) the (?:\w+ ){{0,2}}(?:{_QUANTITIES})s?\b"),
    ("number", rf"\bwhat (?:is|are|was|were) the (?:{_EXTREMES}) \w+"),
    ("number", r"\bwhat (?:do|does|did|will|would|should) (?:[\w'’-]+ ){1,6}(?:cost|weigh|measure|earn)\b"),
    ("number", r"\b(?:what|which) (?:port|percentage|amount|rate|temperature)\b"),
    ("day", r"\b(?:what|which) (?:day|weekday|date)s?\b"),
    ("time", r"\bwhen\b|\b(?:what|which) (?:time|year|month|week)\b|\bhow soon\b|\bsince when\b"),
    ("name", r"\b(?:what|which) (?:is|was|are|were) (?:the )?(?:full |first |last )?names?\b|\bwhose name\b"),
    ("colour", r"\b(?:what|which) colou?rs?\b"),
    ("place", r"\bwhere\b"),
    ("reason", r"\bwhy\b"),
    ("steps", r"\bwhat (?:should|must|can|do|shall) (?:i|we|you|one) do\b|\bhow (?:do|can|should|could) (?:i|we|you|one)\b|\bwhat to do\b"),
)
#: Question words that a value of the type covers: an answer with a weekday need not contain the word "day".
_COVERED_BY_TYPE: dict[AnswerType | None, tuple[str, ...]] = {
    "time": ("day", "date", "time", "year", "month", "week"),
    "day": ("day", "weekday", "date"),
    "duration": ("period", "duration", "time", "valid"),
    "phone": ("number",),
    "mail": ("address",),
    "colour": ("colour", "color"),
}
#: "How high is the rent?": an amount. Texts do not call it "high", so the adjective is not required.
_AMOUNT = re.compile(
    rf"\bhow (high|large|big|low) (?:is|are|was|were) (?:the|my|our|your|their) (?:\w+ ){{0,2}}(?:{_QUANTITIES}|deposit|fine|tax|rate|"
    r"interest|premium|amount|number|bill|loan|profit|loss|share|salary)s?\b",
    re.IGNORECASE,
)
#: "What is a lease?", "What are scopes?", with nothing else. With "the", a value may be meant: "What is the new address?".
_DEFINITION = re.compile(
    r"\W*what(?:'s| is| are)(?: an?)?((?!\s+(?:the|this|that|these|those|its?|their|my|your|our)\b)\s+[\w./-]+){1,3}\s*\??\s*",
    re.IGNORECASE,
)
#: Phrasal verbs that documents also write as one word.
_PHRASAL = re.compile(r"\b(back|set|log|sign|look)\s+(up|in|out)\b", re.IGNORECASE)
_TO_DO = re.compile(r"\bhow (?:do|can|should|could) (?:i|we|you|one)\s+([\w-]+)", re.IGNORECASE)
_ASKS_WHEN = re.compile(r"\W*(?:and\s+|but\s+)?(?:(?:since|by|until|till|from)\s+)?(?:when|where)\b", re.IGNORECASE)
_WHEN_CLAUSE = re.compile(r"(?<=\w )(?:when|while|if|where)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question."""

    text: str
    #: whether it is English; otherwise, only words and facts are known
    english: bool
    #: the stems of each significant word, which an answer must contain or have near it
    words: tuple[tuple[str, ...], ...]
    #: numbers, codes and names, verbatim
    facts: tuple[str, ...]
    answer_type: AnswerType | None = None
    #: the stems of the noun after "how many"
    counted: tuple[str, ...] = ()
    #: its noun phrases, verbatim and in order: "the price", "the pump P-100"
    phrases: tuple[str, ...] = ()
    #: the verb of a how-to question: "change" of "How do I change the bulb?"
    verb: str = ""


def parse_question(text: str) -> Question:
    """Parse a question."""
    english = bool(_ENGLISH.match(text))
    text = _PHRASAL.sub(r"\1\2", text) if english else text
    facts = tuple(facts_of(text))
    chunks = list(_chunks(text))
    words = _stems(word for chunk in chunks for word in chunk.words)
    if not english:
        return Question(text, False, words, facts)
    answer_type = _answer_type(text)
    words = tuple(word for word in words if word not in _stems(_COVERED_BY_TYPE.get(answer_type, ())))
    amount = _AMOUNT.search(text)
    words = tuple(word for word in words if amount is None or word != tuple(analyse(amount[1])))
    counted = next((chunk.words[0] for chunk in chunks if chunk.counted and chunk.words), "")
    verb = _TO_DO.search(text) if answer_type == "steps" else None
    phrases = tuple(one.phrase for one in chunks if one.phrase)
    return Question(text, True, words, facts, answer_type, tuple(analyse(counted)), phrases, verb[1].lower() if verb else "")


def _answer_type(text: str) -> AnswerType | None:
    # "What colour is the lamp when ..." asks for a colour.
    main = text if _ASKS_WHEN.match(text) else _WHEN_CLAUSE.split(text, maxsplit=1)[0]
    found = next((kind for kind, pattern in _ANSWER_TYPES if re.search(pattern, main, re.IGNORECASE)), None)
    return "definition" if found is None and _DEFINITION.fullmatch(text) else found


@dataclass(frozen=True, slots=True)
class _Chunk:
    """A run of words between function words."""

    words: tuple[str, ...]
    phrase: str
    counted: bool = False


def _chunks(text: str) -> Iterator[_Chunk]:
    """The runs of words between function words."""
    before: list[str] = []
    run: list[str] = []
    inverted = False
    for token in [*_TOKEN.findall(text), "?"]:
        bare = _POSSESSIVE.sub("", token)
        low = fold(bare.lower())
        if low not in FUNCTION and token[0].isalnum():
            run.append(bare)
            continue
        if run:
            yield _chunk(before, run, inverted)
            run, before, inverted = [], [], False
        inverted = low in INVERTING or (inverted and low in DETERMINERS)
        before.append(low)


def _chunk(before: list[str], run: list[str], inverted: bool) -> _Chunk:
    words = tuple(word for word in run if word.lower() not in GENERIC)
    last = before[-1] if before else ""
    if last in ("who", "i", "you", "we", "not", "be") or (last in AUXILIARIES and len(before) > 1 and not inverted):
        # A verb or a predicate.
        return _Chunk(words, "")
    # "does the pump WEIGH": the verb follows its subject.
    named = run[:-1] if inverted and len(run) > 1 else run
    own = [word for word in named if word.lower() not in GENERIC]
    phrase = " ".join([*([last] if last in DETERMINERS else []), *named]) if own else ""
    return _Chunk(words, phrase, before[-2:] == ["how", "many"])


def _stems(words: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(stems for word in words if (stems := tuple(analyse(word)))))
