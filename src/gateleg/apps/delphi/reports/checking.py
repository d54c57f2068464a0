"""Is it true what a report says? Citations are checked against the comments, numbers against the tables, and sides against the votes.

The checks do not know who wrote a section: those written from templates pass them as well as those written by a model. What a clause says
is read from its words: which groups it names, whether it speaks of agreement or of disagreement, what it quotes and which numbers it has. A
number that cannot be found among the figures of what the clause is about is a fault, also when it happens to be true.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gateleg.apps.delphi.reports.findings import ENOUGH_VOTES, Count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gateleg.apps.delphi.reports.findings import Findings, Statement
    from gateleg.apps.delphi.reports.sections import Clause, Section

Kind = Literal[
    "unknown-comment",
    "foreign-comment",
    "misquoted",
    "uncited-comment",
    "unknown-group",
    "wrong-number",
    "wrong-side",
    "too-few-votes",
    "share-without-count",
]

_QUOTE = re.compile(r"“([^”]*)”")
_GROUP = re.compile(r"\bGroup ([A-Z])\b")
_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*(?:%|per ?cent\b)")
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:,\d{3})*(?:\.\d+)?)(?![\w%])")
_COMMENT = re.compile(r"\b(?:comment|statement)s?\s+#?(\d+)", re.IGNORECASE)
_SIDE = re.compile(r"\b(disagree\w*|reject\w*|oppos\w*|agree\w*|support\w*|favou?r\w*|pass(?:es|ed|ing)?)\b", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not|n't|never|hardly|nobody|no one|neither|nor)\b|n't\b", re.IGNORECASE)
_EVERY = re.compile(r"\b(?:every|all|each|both)(?: of the)?(?: \w+)? groups?\b|\bacross (?:the )?groups\b", re.IGNORECASE)
_OTHERS = re.compile(r"\b(?:elsewhere|other groups?|rest|others)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a section says and that is not so."""

    kind: Kind
    clause: str
    why: str


def check(section: Section, findings: Findings) -> list[Fault]:
    """All faults of a section; none if what it says can be found in the results."""
    topic = findings.topic(section.id)
    allowed = frozenset(findings.statements) if topic is None else frozenset(topic.comments) & frozenset(findings.statements)
    facts = general_facts(findings, section.id)
    return [fault for clause in section.clauses() for fault in _faults(clause, findings, allowed, facts)]


def general_facts(findings: Findings, section: str) -> frozenset[float]:
    """Numbers that may be said without citing a comment: the size of the conversation, of its groups and topics, and of its lists."""
    totals = findings.totals
    numbers: set[float] = {totals.participants, totals.grouped, totals.votes, totals.authors}
    numbers |= {totals.comments, totals.comments_out, totals.comments_voted_on, totals.votes_shown}
    numbers |= {findings.certainty.draws, findings.certainty.as_strong, round(findings.certainty.stability or 0.0, 2)}
    numbers |= {totals.participants - totals.grouped, round(totals.votes_per_participant, 1), round(totals.votes_per_participant)}
    numbers |= {len(findings.groups), *(group.size for group in findings.groups)}
    numbers |= {len(findings.bridging()), len(findings.divisive()), len(findings.uncertain())}
    numbers |= findings.participation.numbers
    numbers |= {sum(not statement.everybody.enough for statement in findings.statements.values())}
    numbers |= {sum(bool(findings.of_topic(topic)) for topic in layer) for layer in findings.topics}
    # A topic's section speaks of its own comments; other sections compare topics.
    topic = findings.topic(section)
    for one in [topic] if topic else [one for layer in findings.topics for one in layer]:
        members = findings.of_topic(one)
        numbers |= {len(members), sum(statement.everybody.votes for statement in members), len(one.children)}
    return frozenset(numbers)


def _faults(clause: Clause, findings: Findings, allowed: frozenset[int], facts: frozenset[float]) -> Iterator[Fault]:
    known = [number for number in clause.citations if number in findings.statements]
    for number in clause.citations:
        if number not in findings.statements:
            yield Fault("unknown-comment", clause.text, f"There is no comment {number}, or moderation took it out.")
        elif number not in allowed:
            yield Fault("foreign-comment", clause.text, f"Comment {number} does not belong to this section.")
    cited = [findings.statements[number] for number in known]
    yield from _misquoted(clause, cited)
    said = _QUOTE.sub(" ", clause.text)
    for name in sorted((topic.name for layer in findings.topics for topic in layer), key=len, reverse=True):
        said = said.replace(name, " ")
    for match in _COMMENT.finditer(said):
        if int(match.group(1)) not in clause.citations:
            yield Fault("uncited-comment", clause.text, f"It speaks of comment {match.group(1)} and does not cite it.")
    said = _COMMENT.sub(" ", said)
    letters = [group.letter for group in findings.groups]
    for letter in _GROUP.findall(said):
        if letter not in letters:
            yield Fault("unknown-group", clause.text, f"There is no Group {letter}.")
    yield from _wrong_sides(clause, said, cited, letters)
    yield from _wrong_numbers(clause, said, cited, findings, facts)


def _misquoted(clause: Clause, cited: list[Statement]) -> Iterator[Fault]:
    bodies = [_plain(statement.body) for statement in cited]
    for quoted in _QUOTE.findall(clause.text):
        pieces = [piece for piece in _plain(quoted).split("…") if piece.strip()]
        if not any(all(piece.strip() in body for piece in pieces) for body in bodies):
            yield Fault("misquoted", clause.text, f"No cited comment says “{quoted}”.")


def _plain(text: str) -> str:
    return " ".join(text.replace("“", "‘").replace("”", "’").split())


def _populations(said: str, statement: Statement, letters: list[str]) -> list[Count]:
    """Whose votes a clause is about: those of the groups it names, of every group, or of everybody."""
    if _EVERY.search(said):
        return list(statement.groups)
    named = [place for place, letter in enumerate(letters) if letter in _GROUP.findall(said)]
    if named:
        found = [statement.groups[place] for place in named]
        if _OTHERS.search(said):
            found.append(total(count for place, count in enumerate(statement.groups) if place not in named))
        return found
    return [statement.everybody]


def total(counts: Iterable[Count]) -> Count:
    """The votes of several groups together."""
    listed = list(counts)
    return Count(*(sum(getattr(count, name) for count in listed) for name in ("agrees", "disagrees", "passes")))


def _side_of(word: str) -> str:
    lowered = word.lower()
    if lowered.startswith("pass"):
        return "pass"
    return "disagree" if lowered.startswith(("disagree", "reject", "oppos")) else "agree"


def _said_side(said: str) -> str:
    found = _SIDE.search(said)
    return _side_of(found.group(1)) if found else "agree"


def _wrong_sides(clause: Clause, said: str, cited: list[Statement], letters: list[str]) -> Iterator[Fault]:
    """A clause that speaks of one side only must be on the side of the majority; shares are checked as numbers."""
    sides = {_side_of(word) for word in _SIDE.findall(said)} - {"pass"}
    if len(sides) != 1 or _NEGATED.search(said) or _OTHERS.search(said) or _PERCENT.search(said):
        return
    side = sides.pop()
    for statement in cited:
        counts = _populations(said, statement, letters)
        every = bool(_EVERY.search(said)) or bool(_GROUP.search(said))
        right = [count.side == side for count in counts if count.votes]
        if right and not (all(right) if every else any(right)):
            yield Fault("wrong-side", clause.text, f"More {_other(side)} than {side} with comment {statement.comment_id} there.")


def _other(side: str) -> str:
    return "agree" if side == "disagree" else "disagree"


def _wrong_numbers(clause: Clause, said: str, cited: list[Statement], findings: Findings, facts: frozenset[float]) -> Iterator[Fault]:
    letters = [group.letter for group in findings.groups]
    counts = [count for statement in cited for count in _populations(said, statement, letters)]
    if counts and _EVERY.search(said) and "at least" in said:
        counts = [min(counts, key=lambda count: count.share(_said_side(said)))]
    given = {float(match.group(1).replace(",", "")) for match in _NUMBER.finditer(_PERCENT.sub(" ", said))}
    for match in _PERCENT.finditer(said):
        value = float(match.group(1))
        after = _SIDE.search(said, match.end())
        sides = [_side_of(after.group(1))] if after else ["agree", "disagree", "pass"]
        meant = _shares_of(value, counts, sides)
        if not (meant if cited else _is_group_share(value, findings)):
            yield Fault("wrong-number", clause.text, f"{match.group(0)} is not the share of {' or '.join(sides)} that the votes give.")
        elif cited and not any(count.enough for count in meant):
            yield Fault("too-few-votes", clause.text, f"{match.group(0)} is a share of fewer than {ENOUGH_VOTES} votes.")
        elif cited and not any(count.enough and float(count.votes) in given for count in meant):
            yield Fault("share-without-count", clause.text, f"{match.group(0)} does not say of how many votes it is a share.")
    numbers = {float(count) for one in counts for count in (one.agrees, one.disagrees, one.passes, one.votes)}
    for match in _NUMBER.finditer(_PERCENT.sub(" ", said)):
        value = float(match.group(1).replace(",", ""))
        if value not in numbers and value not in facts and value != len(cited):
            yield Fault("wrong-number", clause.text, f"{match.group(1)} is none of the figures that this is about.")


def _shares_of(value: float, counts: list[Count], sides: list[str]) -> list[Count]:
    """The votes of which a percentage is a share, or a bound of one."""
    return [count for count in counts if any(_is_share(value, count, side) for side in sides)]


def _is_share(value: float, count: Count, side: str) -> bool:
    return any(abs(100 * share - value) <= 0.5 + 1e-9 for share in (count.share(side), *count.interval(side)))


def _is_group_share(value: float, findings: Findings) -> bool:
    """Whether a percentage is that of a group among all who are grouped, of those among all participants, or of how votes were cast."""
    grouped = max(1, findings.totals.grouped)
    shares = [group.size / grouped for group in findings.groups] + [findings.totals.grouped / max(1, findings.totals.participants)]
    shares += findings.participation.shares
    return any(abs(100 * share - value) <= 0.5 + 1e-9 for share in shares)
