"""Checks the text of a report: citations against the comments, numbers against the results, and sides against the votes.

All sections must pass, whether templates or a model wrote them. The meaning of a clause is derived from its words: the groups that it
names, whether it is about agreement or disagreement, its quotations and its numbers. A number that is not among the figures of the clause's
subject is a fault, even if it happens to be true.
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
    """A false or unsupported clause of a section."""

    kind: Kind
    clause: str
    why: str


def check(section: Section, findings: Findings) -> list[Fault]:
    """All faults of a section; none if the results support it."""
    topic = findings.topic(section.id)
    allowed = frozenset(findings.statements) if topic is None else frozenset(topic.comments) & frozenset(findings.statements)
    facts = general_facts(findings, section.id)
    return [fault for clause in section.clauses() for fault in _faults(clause, findings, allowed, facts)]


def general_facts(findings: Findings, section: str) -> frozenset[float]:
    """Numbers that need no citation: the sizes of the conversation, its groups, topics and lists."""
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
    # The section of a topic is about its own comments; other sections compare topics.
    topic = findings.topic(section)
    for one in [topic] if topic else [one for layer in findings.topics for one in layer]:
        members = findings.of_topic(one)
        numbers |= {len(members), sum(statement.everybody.votes for statement in members), len(one.children)}
    return frozenset(numbers)


def _faults(clause: Clause, findings: Findings, allowed: frozenset[int], facts: frozenset[float]) -> Iterator[Fault]:
    known = [number for number in clause.citations if number in findings.statements]
    for number in clause.citations:
        if number not in findings.statements:
            yield Fault("unknown-comment", clause.text, f"Comment {number} does not exist, or moderation excluded it.")
        elif number not in allowed:
            yield Fault("foreign-comment", clause.text, f"Comment {number} does not belong to this section.")
    cited = [findings.statements[number] for number in known]
    yield from _misquoted(clause, cited)
    text = _QUOTE.sub(" ", clause.text)
    for name in sorted((topic.name for layer in findings.topics for topic in layer), key=len, reverse=True):
        text = text.replace(name, " ")
    for match in _COMMENT.finditer(text):
        if int(match.group(1)) not in clause.citations:
            yield Fault("uncited-comment", clause.text, f"It mentions comment {match.group(1)} without citing it.")
    text = _COMMENT.sub(" ", text)
    letters = [group.letter for group in findings.groups]
    for letter in _GROUP.findall(text):
        if letter not in letters:
            yield Fault("unknown-group", clause.text, f"There is no Group {letter}.")
    yield from _wrong_sides(clause, text, cited, letters)
    yield from _wrong_numbers(clause, text, cited, findings, facts)


def _misquoted(clause: Clause, cited: list[Statement]) -> Iterator[Fault]:
    bodies = [_plain(statement.body) for statement in cited]
    for quoted in _QUOTE.findall(clause.text):
        pieces = [piece for piece in _plain(quoted).split("…") if piece.strip()]
        if not any(all(piece.strip() in body for piece in pieces) for body in bodies):
            yield Fault("misquoted", clause.text, f"No cited comment contains “{quoted}”.")


def _plain(text: str) -> str:
    return " ".join(text.replace("“", "‘").replace("”", "’").split())


def _populations(text: str, statement: Statement, letters: list[str]) -> list[Count]:
    """The votes that a clause is about: those of the groups that it names, of every group, or of everybody."""
    if _EVERY.search(text):
        return list(statement.groups)
    named = [place for place, letter in enumerate(letters) if letter in _GROUP.findall(text)]
    if named:
        found = [statement.groups[place] for place in named]
        if _OTHERS.search(text):
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


def _side_in(text: str) -> str:
    found = _SIDE.search(text)
    return _side_of(found.group(1)) if found else "agree"


def _wrong_sides(clause: Clause, text: str, cited: list[Statement], letters: list[str]) -> Iterator[Fault]:
    """A clause about one side only must name the side of the majority. Shares are checked as numbers."""
    sides = {_side_of(word) for word in _SIDE.findall(text)} - {"pass"}
    if len(sides) != 1 or _NEGATED.search(text) or _OTHERS.search(text) or _PERCENT.search(text):
        return
    side = sides.pop()
    for statement in cited:
        counts = _populations(text, statement, letters)
        every = bool(_EVERY.search(text)) or bool(_GROUP.search(text))
        right = [count.side == side for count in counts if count.votes]
        if right and not (all(right) if every else any(right)):
            yield Fault("wrong-side", clause.text, f"More people {_other(side)} than {side} with comment {statement.comment_id}.")


def _other(side: str) -> str:
    return "agree" if side == "disagree" else "disagree"


def _wrong_numbers(clause: Clause, text: str, cited: list[Statement], findings: Findings, facts: frozenset[float]) -> Iterator[Fault]:
    letters = [group.letter for group in findings.groups]
    counts = [count for statement in cited for count in _populations(text, statement, letters)]
    if counts and _EVERY.search(text) and "at least" in text:
        counts = [min(counts, key=lambda count: count.share(_side_in(text)))]
    given = {float(match.group(1).replace(",", "")) for match in _NUMBER.finditer(_PERCENT.sub(" ", text))}
    for match in _PERCENT.finditer(text):
        value = float(match.group(1))
        after = _SIDE.search(text, match.end())
        sides = [_side_of(after.group(1))] if after else ["agree", "disagree", "pass"]
        meant = _shares_of(value, counts, sides)
        if not (meant if cited else _is_group_share(value, findings)):
            yield Fault("wrong-number", clause.text, f"{match.group(0)} is not the share of {' or '.join(sides)} in the votes.")
        elif cited and not any(count.enough for count in meant):
            yield Fault("too-few-votes", clause.text, f"{match.group(0)} is a share of fewer than {ENOUGH_VOTES} votes.")
        elif cited and not any(count.enough and float(count.votes) in given for count in meant):
            yield Fault("share-without-count", clause.text, f"{match.group(0)} lacks the number of votes that it is a share of.")
    numbers = {float(count) for one in counts for count in (one.agrees, one.disagrees, one.passes, one.votes)}
    for match in _NUMBER.finditer(_PERCENT.sub(" ", text)):
        value = float(match.group(1).replace(",", ""))
        if value not in numbers and value not in facts and value != len(cited):
            yield Fault("wrong-number", clause.text, f"{match.group(1)} is not among the figures of the clause's subject.")


def _shares_of(value: float, counts: list[Count], sides: list[str]) -> list[Count]:
    """The votes for which a percentage is a share, or the bound of a share."""
    return [count for count in counts if any(_is_share(value, count, side) for side in sides)]


def _is_share(value: float, count: Count, side: str) -> bool:
    return any(abs(100 * share - value) <= 0.5 + 1e-9 for share in (count.share(side), *count.interval(side)))


def _is_group_share(value: float, findings: Findings) -> bool:
    """Whether a percentage is a group's share of grouped participants, the share of these among all, or a share of participation."""
    grouped = max(1, findings.totals.grouped)
    shares = [group.size / grouped for group in findings.groups] + [findings.totals.grouped / max(1, findings.totals.participants)]
    shares += findings.participation.shares
    return any(abs(100 * share - value) <= 0.5 + 1e-9 for share in shares)
