"""A second, plain program that recounts a report: every sentence of it, from the two CSV files that it was made from.

    python tests/apps/delphi/recount.py votes.csv comments.csv report/

It shares no code with what writes reports: it knows `csv`, `json` and arithmetic. Whether chance explains the votes is tested again, with
the same random numbers. Who is in which group (at the end and at each moment of
the timeline) and which comment is in which topic it takes from the report's own data files, for that is what the report claims; every
number about them is counted again. A sentence that it does not understand is a fault.
"""

import base64
import csv
import json
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np

_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_SIDES = {"agree": 1, "disagree": -1, "pass": 0}
#: Votes that a share needs, and those that let somebody into a group.
_ENOUGH, _LET_IN, _FEWEST = 5, 7, 15
#: How often a timeline stops, and what its data have for people without a group and for those who have not voted yet.
_MOMENTS, _NO_GROUP, _ABSENT = 24, -1, -2
#: How often votes are shuffled for a moment before the end, and how many people are compared with shuffles at most.
_SHUFFLES, _MOST_SHUFFLED = 19, 2_000


@dataclass
class Counted:
    """What two CSV files and the tables of a report say."""

    votes: dict[tuple[str, str], int]
    #: every vote, also those that were changed later: time, person, comment and choice
    cast: list[tuple[float, int, int, int]]
    #: of the votes that count
    times: list[float]
    bodies: dict[str, str]
    out: set[str]
    group_of: dict[str, str]
    letters: dict[str, str]
    certainty: dict[str, str]
    topics: dict[str, set[str]] = field(default_factory=dict)
    #: those that were asked for
    tallies: dict[tuple[str, str | None], dict[int, int]] = field(default_factory=dict)

    @cached_property
    def of_comment(self) -> dict[str, list[tuple[str, int]]]:
        """For each comment who voted how."""
        found: dict[str, list[tuple[str, int]]] = {}
        for (person, comment), choice in self.votes.items():
            found.setdefault(comment, []).append((person, choice))
        return found

    @cached_property
    def people(self) -> set[str]:
        return {person for person, _ in self.votes}

    @property
    def shown(self) -> list[str]:
        return [comment for comment in self.bodies if comment not in self.out]

    def tally(self, comment: str, letters: str | None = None) -> dict[int, int]:
        """How often each choice was made on a comment, by everybody or by the groups with some letters."""
        if (comment, letters) in self.tallies:
            return self.tallies[comment, letters]
        found = self.tallies[comment, letters] = {1: 0, 0: 0, -1: 0}
        for person, choice in self.of_comment.get(comment, ()):
            if letters is None or self.letters.get(self.group_of.get(person, ""), "?") in letters:
                found[choice] += 1
        return found

    def by_person(self) -> list[int]:
        """How many votes each person has cast."""
        counts: dict[str, int] = {}
        for person, _ in self.votes:
            counts[person] = counts.get(person, 0) + 1
        return list(counts.values())

    def grouped(self) -> int:
        """Who has voted often enough to be compared."""
        return compared(self.by_person(), len({comment for _, comment in self.votes}))

    def size(self, letter: str) -> int:
        return sum(self.letters.get(group) == letter for group in self.group_of.values())

    @cached_property
    def as_strong(self) -> int:
        """In how many shuffles of all votes people differ as strongly."""
        votes = {(int(person), int(comment)): choice for (person, comment), choice in self.votes.items()}
        return shuffles_as_strong(votes, {int(comment) for comment in self.out}, int(self.certainty["draws-by-lot"]))


def shuffles_as_strong(votes: dict[tuple[int, int], int], out: set[int], draws: int) -> int:
    """In how many shuffles people differ as strongly in one direction as by their own votes, given by person and comment.

    The votes on each comment are shuffled among those who cast them. People are compared by how often they voted at all; what they said of
    comments that are out does not count.
    """
    random = np.random.default_rng(0)
    people, comments = sorted({person for person, _ in votes}), sorted({comment for _, comment in votes} - out)
    counts = Counter(person for person, _ in votes)
    enough = compared(list(counts.values()), len({comment for _, comment in votes}))
    busiest = set(sorted(people, key=lambda person: (-counts[person], person))[:enough])
    rows = [row for row, person in enumerate(people) if person in busiest]
    if len(rows) > _MOST_SHUFFLED:
        rows = sorted(random.choice(rows, _MOST_SHUFFLED, replace=False).tolist())
    row_of, column_of = {people[row]: place for place, row in enumerate(rows)}, {comment: place for place, comment in enumerate(comments)}
    cast = sorted((column_of[what], row_of[who], how) for (who, what), how in votes.items() if who in row_of and what in column_of)
    if min(len(rows), len(comments)) < 2 or not cast:
        return draws
    column, row, choice = np.array(cast).T
    apart = choice - (np.bincount(column, choice) / np.maximum(np.bincount(column), 1))[column]

    def strength(values: Any) -> float:
        table = np.zeros((len(rows), len(comments)))
        table[row, column] = values
        return float(np.linalg.svd(table, compute_uv=False)[0] ** 2)

    least = strength(apart) * (1 - 1e-9)
    return sum(strength(apart[np.lexsort((random.random(len(cast)), column))]) >= least for _ in range(draws))


def compared(votes_by_person: list[int], comments: int) -> int:
    """How many people have voted often enough, given the votes of each; the busiest fifteen in any case."""
    enough = sum(count >= min(_LET_IN, comments) for count in votes_by_person)
    return max(enough, min(_FEWEST, len(votes_by_person)))


def read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def read(votes: Path, comments: Path, report: Path) -> Counted:
    """Count what was sent: the last vote of each person on each comment; of one moment agreement before a pass before disagreement."""
    latest: dict[tuple[str, str], tuple[float, int]] = {}
    ballots = read_rows(votes)
    for row in ballots:
        key, cast = (row["voter-id"], row["comment-id"]), (float(row["timestamp"]), int(row["vote"]))
        latest[key] = max(latest.get(key, cast), cast)
    rows = read_rows(comments)
    groups = read_rows(report / "data/groups.csv")
    return Counted(
        {key: choice for key, (_, choice) in latest.items()},
        [(float(row["timestamp"]), int(row["voter-id"]), int(row["comment-id"]), int(row["vote"])) for row in ballots],
        [time for time, _ in latest.values()],
        {row["comment-id"]: row["comment-body"] for row in rows},
        {row["comment-id"] for row in rows if row.get("moderated") == "-1" or row.get("is-meta", "").lower() in {"1", "true", "t"}},
        {row["participant"]: row["group-id"] for row in read_rows(report / "data/participant-votes.csv") if row["group-id"]},
        {row["group-id"]: row["group"] for row in groups},
        groups[0] if groups else {},
        _topics(report / "data/comment-clusters.csv"),
    )


def _topics(path: Path) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in read_rows(path) if path.exists() else []:
        for column, value in row.items():
            if column.endswith("_cluster_id") and value:
                found.setdefault(f"{column.removesuffix('_cluster_id')}_{value}", set()).add(row["comment-id"])
    return found


class Recount:
    """All faults of a report."""

    def __init__(self, counted: Counted) -> None:
        self.counted = counted
        self.faults: list[str] = []
        self.sentences = 0

    def check(self, sections: list[dict[str, Any]]) -> list[str]:
        for section in sections:
            for paragraph in section["paragraphs"]:
                for sentence in paragraph["sentences"]:
                    self.sentences += 1
                    text = " ".join(clause["text"] for clause in sentence["clauses"])
                    cited = [str(number) for clause in sentence["clauses"] for number in clause["citations"]]
                    self._sentence(text, cited, section["id"])
        return self.faults

    def _sentence(self, text: str, cited: list[str], section: str) -> None:
        for pattern, proof in _PATTERNS:
            if found := re.fullmatch(pattern, text, re.DOTALL):
                try:
                    wrong = [why for why in proof(self.counted, found.groupdict(), cited, section) if why]
                except (KeyError, IndexError) as error:
                    wrong = [f"names what there is not: {error}"]
                self.faults += [f"{text}: {why}" for why in wrong]
                return
        self.faults.append(f"{text}: not understood")


Proof = Callable[[Counted, dict[str, str], list[str], str], Iterator[str]]
_PATTERNS: list[tuple[str, Proof]] = []
_N = r"[\d,]+"


def proves(pattern: str) -> Callable[[Proof], Proof]:
    def noted(proof: Proof) -> Proof:
        _PATTERNS.append((pattern, proof))
        return proof

    return noted


def number(text: str) -> int:
    return _WORDS.index(text) if text in _WORDS else int(text.replace(",", ""))


def same(said: str, counted: int, what: str) -> str:
    return "" if number(said) == counted else f"{said} {what} are said, {counted} counted"


def share(said: str, of: str, tally: dict[int, int], side: str) -> Iterator[str]:
    votes = sum(tally.values())
    yield same(of, votes, "votes")
    if votes < _ENOUGH:
        yield f"a share of {votes} votes"
    elif abs(100 * tally[_SIDES[side]] / votes - int(said)) > 0.5 + 1e-9:
        yield f"{said}% {side} are said, {tally[_SIDES[side]]} of {votes} counted"


def quoted(counted: Counted, said: str, cited: list[str]) -> str:
    if len(cited) != 1 or cited[0] in counted.out:
        return f"cites {cited}"
    body = " ".join(counted.bodies[cited[0]].replace("“", "‘").replace("”", "’").split())
    whole = said == body or (said.endswith("…") and len(said) > 1 and body.startswith(said[:-1]))
    return "" if whole else f"comment {cited[0]} says {body!r}"


def wilson_high(agrees: int, votes: int) -> float:
    """The upper end of the same interval."""
    return 1 - wilson_low(votes - agrees, votes)


def wilson_low(agrees: int, votes: int) -> float:
    """The lower end of Wilson's 95 % interval."""
    z = 1.959963984540054
    middle = agrees / votes + z * z / (2 * votes)
    return (middle - z * math.sqrt(agrees / votes * (1 - agrees / votes) / votes + z * z / (4 * votes * votes))) / (1 + z * z / votes)


@proves(
    rf"(?P<people>{_N}) participants? cast (?P<votes>{_N}) votes? on (?P<comments>{_N}) comments?, (?P<mean>[\d.]+) votes each on average\."
)
def _size(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    people, votes = len(counted.people), len(counted.votes)
    yield same(said["people"], people, "participants")
    yield same(said["votes"], votes, "votes")
    yield same(said["comments"], len({comment for _, comment in counted.votes}), "comments")
    if abs(float(said["mean"]) - votes / max(people, 1)) > 0.05 + 1e-9:
        yield f"{votes / max(people, 1)} on average"


@proves(
    rf"(?P<out>{_N}) comments? (?:was|were) removed by moderation; this report is about the (?P<rest>{_N}) others? "
    rf"and (?P<votes>{_N}) votes? on them\."
)
def _moderated(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield same(said["out"], len(counted.out), "comments taken out")
    yield same(said["rest"], len(counted.shown), "comments")
    yield same(said["votes"], sum(comment in counted.bodies and comment not in counted.out for _, comment in counted.votes), "votes")


@proves(
    rf"(?P<grouped>{_N}) participants? voted often enough to be compared, and "
    r"(?:are all in one group|fall into (?P<groups>\S+) groups that vote alike): (?P<sizes>.+)\."
)
def _groups(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield same(said["grouped"], counted.grouped(), "grouped participants")
    yield same(said["groups"] or "one", len(counted.letters), "groups")
    sizes = dict(re.findall(rf"Group ([A-Z]) with ({_N})", said["sizes"]))
    for letter in counted.letters.values():
        yield same(sizes[letter], counted.size(letter), f"people in Group {letter}")


@proves(rf"Group (?P<letter>[A-Z]) has (?P<size>{_N}) participants?, (?P<share>\d+)% of the (?P<grouped>{_N}) who were grouped\.")
def _group(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    size, grouped = counted.size(said["letter"]), counted.grouped()
    yield same(said["size"], size, "people")
    yield same(said["grouped"], grouped, "grouped participants")
    if abs(100 * size / grouped - int(said["share"])) > 0.5 + 1e-9:
        yield f"{size} of {grouped} counted"


@proves(
    rf"(?P<share>\d+)% of (?P<votes>{_N}) in Group (?P<letter>[A-Z]) (?P<side>agree|disagree)"
    rf"(?:, elsewhere (?P<other>\d+)% of (?P<rest>{_N}) (?:agree|disagree))?: “(?P<quote>[^”]*)”"
)
def _apart(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield quoted(counted, said["quote"], cited)
    yield from share(said["share"], said["votes"], counted.tally(cited[0], said["letter"]), said["side"])
    rest = counted.tally(cited[0], "".join(letter for letter in counted.letters.values() if letter != said["letter"]))
    if said["other"]:
        yield from share(said["other"], said["rest"], rest, said["side"])
    elif sum(rest.values()) >= _ENOUGH:
        yield "what others think is left out"


@proves(
    rf"(?:What unites the groups most: )?In every group at least (?P<share>\d+)% agree \(the least, of (?P<votes>{_N}) votes?, "
    r"in Group (?P<letter>[A-Z])\): “(?P<quote>[^”]*)”"
)
def _bridge(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield quoted(counted, said["quote"], cited)
    yield from share(said["share"], said["votes"], counted.tally(cited[0], said["letter"]), "agree")
    for letter in counted.letters.values():
        tally = counted.tally(cited[0], letter)
        votes = sum(tally.values())
        if votes < _ENOUGH or 100 * tally[1] / votes < int(said["share"]) - 0.5 - 1e-9:
            yield f"{tally[1]} of {votes} agree in Group {letter}"
        elif wilson_low(tally[1], votes) <= 0.5:
            yield f"no clear majority in Group {letter}: {tally[1]} of {votes}"


@proves(
    rf"(?:What divides them most: )?(?P<share>\d+)% of (?P<votes>{_N}) in Group (?P<letter>[A-Z]) agree, "
    rf"(?P<other>\d+)% of (?P<rest>{_N}) in Group (?P<against>[A-Z]) disagree: “(?P<quote>[^”]*)”"
)
def _divide(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield quoted(counted, said["quote"], cited)
    yield from share(said["share"], said["votes"], counted.tally(cited[0], said["letter"]), "agree")
    yield from share(said["other"], said["rest"], counted.tally(cited[0], said["against"]), "disagree")
    if min(int(said["share"]), int(said["other"])) < 50:
        yield "no two majorities"


@proves(rf"(?:What most agree with: )?(?P<share>\d+)% of (?P<votes>{_N}) voters? (?P<side>agree|disagree|pass): “(?P<quote>[^”]*)”")
def _overall(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield quoted(counted, said["quote"], cited)
    tally = counted.tally(cited[0])
    yield from share(said["share"], said["votes"], tally, said["side"])
    if said["side"] != "pass" and tally[_SIDES[said["side"]]] < tally[-_SIDES[said["side"]]]:
        yield "more are on the other side"


@proves(rf"(?P<few>{_N}) comments? had too few votes to say anything about\.")
def _few(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield same(said["few"], sum(sum(counted.tally(comment).values()) < _ENOUGH for comment in counted.shown), "comments")


@proves(rf"(?P<left>{_N}) participants? voted too rarely to be in a group\.")
def _left(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield same(said["left"], len(counted.people) - counted.grouped(), "participants")


@proves(
    rf"(?P<rare>{_N}) of (?P<people>{_N}) participants? cast fewer than seven votes each, "
    rf"together (?P<cast>{_N}) of the (?P<votes>{_N}) votes?\."
)
def _rare(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    few = [count for count in counted.by_person() if count < _LET_IN]
    yield same(said["rare"], len(few), "participants")
    yield same(said["people"], len(counted.people), "participants in all")
    yield same(said["cast"], sum(few), "of their votes")
    yield same(said["votes"], len(counted.votes), "votes")


@proves(rf"The busiest tenth of the participants, (?P<people>{_N}) of them, cast (?P<share>\d+)% of the (?P<votes>{_N}) votes?\.")
def _busiest(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    counts = sorted(counted.by_person(), reverse=True)
    yield same(said["people"], round(len(counts) / 10), "participants")
    yield same(said["votes"], len(counted.votes), "votes")
    if abs(100 * sum(counts[: number(said["people"])]) / len(counted.votes) - int(said["share"])) > 0.5 + 1e-9:
        yield f"{sum(counts[: number(said['people'])])} of {len(counted.votes)} counted"


@proves(
    rf"(?P<first>\d+)% of the (?P<votes>{_N}) votes? were cast in the first quarter of the time between the first vote and the last, "
    r"(?P<last>\d+)% in the last quarter\."
)
def _quarters(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    times = counted.times
    begun, ended = min(times), max(times)
    yield same(said["votes"], len(times), "votes")
    for which, count in (
        ("first", sum(time - begun < (ended - begun) / 4 for time in times)),
        ("last", sum(time - begun >= 3 * (ended - begun) / 4 for time in times)),
    ):
        if abs(100 * count / len(times) - int(said[which])) > 0.5 + 1e-9:
            yield f"{count} of {len(times)} in the {which} quarter"


@proves(rf"(?P<few>{_N}) of (?P<comments>{_N}) comments? received votes from fewer than a tenth of the participants\.")
def _seldom(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    few = [comment for comment in counted.shown if sum(counted.tally(comment).values()) * 10 < len(counted.people)]
    yield same(said["few"], len(few), "comments")
    yield same(said["comments"], len(counted.shown), "comments in all")


@proves(rf"(?P<comments>{_N}) comments? with (?P<votes>{_N}) votes? in all\.")
def _topic(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    members = counted.topics[section]
    yield same(said["comments"], len(members), "comments")
    yield same(said["votes"], sum(comment in members for _, comment in counted.votes), "votes")


@proves(r"The comments fall into (?P<topics>\S+) topics?; the largest: (?P<largest>.+)\.")
def _topic_list(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    layers: dict[str, list[int]] = {}
    for key, members in counted.topics.items():
        layers.setdefault(key.rpartition("_")[0], []).append(len(members))
    sizes = [number(size) for size in re.findall(rf"’ \(({_N}) comments?\)", said["largest"])]
    if not any(number(said["topics"]) == len(own) and sorted(own, reverse=True)[: len(sizes)] == sizes for own in layers.values()):
        yield f"no layer has such topics: {layers}"


@proves(r"A typical comment: “(?P<quote>[^”]*)”")
def _typical(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield quoted(counted, said["quote"], cited)
    if cited[0] not in counted.topics[section]:
        yield "it is in another topic"


@proves(r"What (?:sets )?Group [A-Z] (?:apart|is clearest about):")
def _heading(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield ""


@proves(
    r"(?P<none>No groups were found\. )?When the votes on each comment were shuffled .+, (?P<draws>\d+) times, "
    r"people differed as strongly in (?P<strong>none|\d+) of these shuffles(?P<meaning>.+)"
)
def _chance(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield same(said["draws"], int(counted.certainty["draws-by-lot"]), "draws")
    yield same(said["strong"].replace("none", "no"), int(counted.certainty["draws-as-strong"]), "draws as strong")
    yield same(said["strong"].replace("none", "no"), counted.as_strong, "shuffles as strong")
    if ("chance alone does not explain" in said["meaning"]) != (said["strong"] == "none"):
        yield "it means the opposite"
    if bool(said["none"]) != (len(counted.letters) == 1):
        yield f"there are {len(counted.letters)} groups"


@proves(r"No groups were found: no division into large enough groups also separates people who were left out when it was computed\.")
def _one_group(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield "" if len(counted.letters) == 1 else f"there are {len(counted.letters)} groups"


@proves(r"Too few (?:of them|participants) voted often enough for groups to be found\.")
def _too_few(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    yield "" if not counted.letters else f"there are {len(counted.letters)} groups"


@proves(r"Hardly anybody passed on a comment, and every comment had enough votes\.")
def _all_sure(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    for comment in counted.shown:
        tally = counted.tally(comment)
        if sum(tally.values()) < _ENOUGH or 5 * tally[0] >= sum(tally.values()):
            yield f"comment {comment}: {tally}"


@proves(r"No comment has a clear majority yet\.")
def _no_majority(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    for comment in counted.shown:
        tally = counted.tally(comment)
        votes = sum(tally.values())
        if votes >= _ENOUGH and wilson_low(tally[1], votes) > 0.5:
            yield f"comment {comment}: {tally}"


@proves(r"When a fifth of the comments is left out, .+ a stability of (?P<stability>[\d.]+), where .+ the groups are (?P<how>\w+).*")
def _stability(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    if abs(float(said["stability"]) - float(counted.certainty["stability"])) > 0.005 + 1e-9:
        yield f"{counted.certainty['stability']} stands in the table"
    stability = float(counted.certainty["stability"])
    if said["how"] != ("stable" if stability >= 0.8 else "mostly" if stability >= 0.5 else "unstable"):
        yield f"groups are not {said['how']} with {stability}"


@proves(
    r"(?P<told>(?:These are the final groups of a|A) replay of the votes in the order of time\b.+"
    r"|The (?:votes|conversation) .+ participants saw are unknown\.)"
)
def _division(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    words = {
        "seen": "closest to what participants saw",
        "same": "the same groups",
        "less-separated": "other groups",
        "too-small": "two per cent",
        "no-times": "no times",
        "too-many": "too large",
    }[counted.certainty["division"]]
    if words not in said["told"]:
        yield f"{counted.certainty['division']} stands in the table"


@proves(r"No comment has the clear agreement of a majority of every group\.")
def _no_bridge(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    for comment in counted.shown:
        tallies = [counted.tally(comment, letter) for letter in counted.letters.values()]
        clear = [sum(tally.values()) >= _ENOUGH and wilson_low(tally[1], sum(tally.values())) > 0.5 for tally in tallies]
        if all(clear):
            yield f"comment {comment} is agreed with in every group"


@proves(
    r"(?P<count>[\d,]+) comments? seems? to describe (?:its author|their authors) rather than an opinion: (?P<listed>#\d+(?:, #\d+)*)\. "
    r"A program suggests this; no moderator has decided it, and nothing was taken out\."
)
def _suggested(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    listed = re.findall(r"\d+", said["listed"])
    yield same(said["count"], len(listed), "suggested comments")
    yield from (f"comment {comment} is not shown" for comment in listed if comment not in counted.shown)


@proves(
    r"Without (?:it|them) there would be (?:no groups|\d+ groups \([\d, and]+ people(?:, stability [\d.]+)?\)), instead of "
    r"(?:no groups|(?P<groups>\d+) groups \((?P<sizes>[\d, and]+) people(?:, stability (?P<stability>[\d.]+))?\))\.(?P<rest>.*)"
)
def _without(counted: Counted, said: dict[str, str], cited: list[str], section: str) -> Iterator[str]:
    """What the groups would be otherwise takes another analysis; what they are is counted."""
    if said["groups"]:
        yield same(said["groups"], len(counted.letters), "groups")
        sizes = sorted((counted.size(letter) for letter in counted.letters.values()), reverse=True)
        if [number(size) for size in said["sizes"].split(" and ")] != sizes:
            yield f"groups of {said['sizes']} are said, {sizes} counted"


def recount_tables(counted: Counted, report: Path) -> Iterator[str]:
    """Faults of the table of comments: every count of everybody and of each group."""
    for row in read_rows(report / "data/comment-groups.csv"):
        for prefix, letters in [("total", None), *((f"group-{letter.lower()}", letter) for letter in counted.letters.values())]:
            tally = counted.tally(row["comment-id"], letters)
            found = [int(row[f"{prefix}-{name}"]) for name in ("votes", "agrees", "disagrees", "passes")]
            if found != [sum(tally.values()), tally[1], tally[-1], tally[0]]:
                yield f"comment {row['comment-id']}, {prefix}: {found} stand in the table, {tally} counted"


class Rows(HTMLParser):
    """The rows of all tables of a page, and its terms with what stands beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[str, list[str]]] = []
        self.terms: list[tuple[str, str]] = []
        self._cells, self._open, self._card = [""], False, ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        if tag in {"tr", "dt"}:
            self._cells = []
        if tag in {"td", "th", "dt", "dd"}:
            self._cells.append("")
            self._open = True
        if tag == "a" and (known.get("href") or "").startswith("#c"):
            self._card = (known["href"] or "")[2:]

    def handle_data(self, data: str) -> None:
        if self._open:
            self._cells[-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag in {"td", "th", "dt", "dd"}:
            self._open = False
        if tag == "tr":
            self.rows.append((self._card, [cell.strip() for cell in self._cells]))
        if tag == "dd":
            self.terms.append((self._cells[0].strip(), self._cells[-1].strip()))


_CARD = re.compile(rf"(\d+)% agree \((\d+) to (\d+)\), (\d+)% disagree, ({_N}) votes?")
_FEW_CARD = re.compile(r"(\d+) agree, (\d+) disagree, (\d+) pass: not enough votes")
_RANKED = re.compile(rf"(\d+)% of ({_N}) \((\d+)–(\d+)\)")


def interval(agrees: int, votes: int, low: str, high: str) -> Iterator[str]:
    for said, bound in ((low, wilson_low(agrees, votes)), (high, wilson_high(agrees, votes))):
        if abs(100 * bound - int(said)) > 0.51:
            yield f"a bound of {said} is said, {100 * bound:.2f} counted"


def recount_page(counted: Counted, page: Rows) -> Iterator[str]:
    """Faults of what stands in `report.html` beside its sentences: its figures, votes on comments, what bridges, and all comments."""
    cast = sum(comment in counted.bodies and comment not in counted.out for _, comment in counted.votes)
    figures = {
        "people voted": len(counted.people),
        "people grouped": counted.grouped(),
        "votes cast": len(counted.votes),
        "comments shown": len(counted.shown),
        "votes on these": cast,
        "opinion groups": len(counted.letters),
    }
    found = dict(page.terms)
    yield from (same(found[name], value, name) for name, value in figures.items())
    least: list[float] = []
    seen = {"cards": 0, "comments": 0}
    for comment, cells in page.rows:
        if cells[0] in {"Everyone", *(f"Group {letter}" for letter in counted.letters.values())} and len(cells) == 3:
            letters = None if cells[0] == "Everyone" else cells[0][-1]
            seen["cards"] += 1
            yield from (f"card of {comment}, {cells[0]}: {why}" for why in _card(counted.tally(comment, letters), cells[2]) if why)
        elif len(cells) == 2 + len(counted.letters) and all(_RANKED.fullmatch(cell) for cell in cells[2:]):
            bounds = []
            for letter, cell in zip(counted.letters.values(), cells[2:], strict=True):
                said, tally = _RANKED.fullmatch(cell), counted.tally(comment, letter)
                assert said is not None
                bounds.append(wilson_low(tally[1], sum(tally.values())))
                yield from (f"bridge {comment}: {why}" for why in share(said[1], said[2], tally, "agree") if why)
                yield from (f"bridge {comment}: {why}" for why in interval(tally[1], sum(tally.values()), said[3], said[4]))
                if 2 * tally[1] <= sum(tally.values()):
                    yield f"bridge {comment}: most of Group {letter} do not agree"
            least.append(min(bounds))
        elif cells[0].isdigit() and len(cells) == 8 + len(counted.letters):
            seen["comments"] += 1
            yield from (f"row of {cells[0]}: {why}" for why in _row(counted, cells) if why)
    if seen["comments"] != len(counted.shown) or not seen["cards"]:
        yield f"{seen} were found on the page, of {len(counted.shown)} comments"
    if least != sorted(least, reverse=True):
        yield "what bridges is not ranked by its lower bounds"


def _card(tally: dict[int, int], text: str) -> Iterator[str]:
    votes = sum(tally.values())
    if votes == 0:
        yield "" if text == "no votes" else text
    elif votes < _ENOUGH:
        few = _FEW_CARD.fullmatch(text)
        yield "" if few and [int(one) for one in few.groups()] == [tally[1], tally[-1], tally[0]] else f"{text}, {tally} counted"
    elif said := _CARD.fullmatch(text):
        yield from share(said[1], said[5], tally, "agree")
        yield from share(said[4], said[5], tally, "disagree")
        yield from interval(tally[1], votes, said[2], said[3])
    else:
        yield f"not understood: {text}"


def _row(counted: Counted, cells: list[str]) -> Iterator[str]:
    tally = counted.tally(cells[0])
    yield same(cells[3], sum(tally.values()), "votes")
    for side, cell in zip(("agree", "disagree", "pass"), cells[4:7], strict=True):
        if cell == "–" or sum(tally.values()) < _ENOUGH:
            yield "" if (cell == "–") == (sum(tally.values()) < _ENOUGH) else f"{cell} of {tally}"
        else:
            yield from share(cell.rstrip("%"), cells[3], tally, side)
    for letter, cell in zip(counted.letters.values(), cells[7:-1], strict=True):
        own = counted.tally(cells[0], letter)
        if cell == "–":
            yield "" if sum(own.values()) < _ENOUGH else f"Group {letter} has {own}"
        else:
            percent, _, votes = cell.partition("% of ")
            yield from share(percent, votes, own, "agree")


@dataclass(frozen=True)
class Cut:
    """What had been cast when the timeline stopped for a moment."""

    time: str
    #: the last vote of each person on each comment
    votes: dict[tuple[int, int], int]

    @cached_property
    def by_person(self) -> dict[int, int]:
        """For each person the number of comments that they had voted on."""
        found: dict[int, int] = {}
        for person, _ in self.votes:
            found[person] = found.get(person, 0) + 1
        return found

    @cached_property
    def comments(self) -> int:
        return len({comment for _, comment in self.votes})

    def figures(self) -> dict[str, int]:
        people = list(self.by_person.values())
        return {
            "votes": sum(people),
            "participants": len(people),
            "comments": self.comments,
            "compared-participants": compared(people, self.comments),
        }


def cuts(counted: Counted) -> Iterator[Cut]:
    """The votes cast by each moment: they are as many votes apart as can be, votes of one time by person, comment and choice."""
    ordered = sorted(counted.cast)
    if not ordered or ordered[0][0] == ordered[-1][0]:
        return
    for end in sorted({round(len(ordered) * moment / _MOMENTS) for moment in range(1, _MOMENTS + 1)} - {0}):
        last = ordered[end - 1][0]
        # Exports of different years have seconds or milliseconds.
        at = datetime.fromtimestamp(int(last if last < 1e11 else last / 1000), UTC)
        yield Cut(f"{at:%Y-%m-%dT%H:%M:%SZ}", {(person, comment): choice for _, person, comment, choice in ordered[:end]})


def recount_moments(counted: Counted, report: Path, page: Rows) -> Iterator[str]:
    """Faults of the timeline: its table, the same table on the page, and who was in which group when."""
    path = report / "data/timeline.csv"
    rows = read_rows(path) if path.exists() else []
    expected = list(cuts(counted))
    if len(rows) != len(expected):
        yield f"{len(rows)} moments stand in the timeline, {len(expected)} counted"
        return
    played = json.loads((report / "data/timeline.json").read_text(encoding="utf-8")) if rows else {"moments": []}
    printed = [cells for _, cells in page.rows if re.fullmatch(r"\d+ \w+ \d{4}, \d\d:\d\d", cells[0])]
    if len(printed) != len(rows):
        yield f"{len(printed)} moments stand on the page, {len(rows)} in the timeline"
        return
    for row, cut, moment, cells in zip(rows, expected, played["moments"], printed, strict=True):
        yield from (f"{cut.time}: {why}" for why in _moment(counted, row, cut, moment, played["count"] == played["drawn"]) if why)
        yield from (f"{cut.time}: {why}" for why in _printed_moment(counted, row, cells) if why)
        yield from (f"{cut.time}: {why}" for why in _chance_of_moment(counted, row, cut, cut is expected[-1]) if why)


def _moment(counted: Counted, row: dict[str, str], cut: Cut, moment: dict[str, Any], has_everybody: bool) -> Iterator[str]:
    """Faults of one row of the timeline and of what is played for it."""
    if row["time"] != cut.time:
        yield f"{row['time']} stands in the table"
    yield from (same(row[name], value, name) for name, value in cut.figures().items())
    sizes = [int(row[f"group-{letter.lower()}-participants"]) for letter in counted.letters.values()]
    if row["may-be-chance"] == "1" and len(sizes) > 1 and any(sizes):
        yield f"groups of {sizes}, although chance explains the votes"
    if not has_everybody:
        return
    everybody, drawn = sorted({person for _, person, _, _ in counted.cast}), memoryview(base64.b64decode(moment["in"])).cast("b").tolist()
    if len(drawn) != len(everybody):
        yield f"{len(drawn)} people are drawn, {len(everybody)} voted"
        return
    group_of = dict(zip(everybody, drawn, strict=True))
    grouped = {person for person, group in group_of.items() if group not in {_NO_GROUP, _ABSENT}}
    if {person for person, group in group_of.items() if group != _ABSENT} != set(cut.by_person):
        yield "others are drawn than those who had voted"
    if counted_sizes := [list(group_of.values()).count(place) for place in range(len(sizes))]:
        yield "" if counted_sizes == sizes else f"groups of {sizes} stand in the table, {counted_sizes} are drawn"
    least = min((cut.by_person[person] for person in grouped), default=_LET_IN)
    # Fewer votes than let somebody in are enough only while the busiest fifteen are compared.
    if len(grouped) > cut.figures()["compared-participants"] or (least < min(_LET_IN, cut.comments) and len(grouped) > _FEWEST):
        yield f"{len(grouped)} people are in groups, with {least} votes and more"


def _chance_of_moment(counted: Counted, row: dict[str, str], cut: Cut, is_last: bool) -> Iterator[str]:
    """Whether a moment is rightly said to be explained by chance, or not to be; the last one has the test of the whole conversation."""
    found = counted.as_strong if is_last else shuffles_as_strong(cut.votes, {int(comment) for comment in counted.out}, _SHUFFLES)
    if (row["may-be-chance"] == "1") != (found > 0):
        yield f"may-be-chance is {row['may-be-chance']}, and {found} shuffles differ as strongly"


def _printed_moment(counted: Counted, row: dict[str, str], cells: list[str]) -> Iterator[str]:
    """Faults of the row of the page's table: time, votes, people, compared, comments, and each group or that there is none."""
    at = datetime.strptime(row["time"], "%Y-%m-%dT%H:%M:%SZ")
    figures = [f"{int(row[name]):,}" for name in ("votes", "participants", "compared-participants", "comments")]
    groups = [f"{int(row[f'group-{letter.lower()}-participants']):,}" for letter in counted.letters.values()]
    expected = [f"{at:%d %b %Y, %H:%M}".removeprefix("0"), *figures, *(["no groups yet"] if row["may-be-chance"] == "1" else groups)]
    yield "" if cells == expected else f"the page has {cells}, not {expected}"


def recount(votes: Path, comments: Path, report: Path) -> tuple[int, list[str]]:
    """How many sentences a report has, and all faults of them, of its tables and of its page."""
    counted = read(votes, comments, report)
    program = Recount(counted)
    program.check(json.loads((report / "data/narrative.json").read_text(encoding="utf-8")))
    page = Rows()
    page.feed((report / "report.html").read_text(encoding="utf-8"))
    others = [*recount_tables(counted, report), *recount_page(counted, page), *recount_moments(counted, report, page)]
    return program.sentences, [*program.faults, *filter(None, others)]


if __name__ == "__main__":
    total, faults = recount(*map(Path, sys.argv[1:4]))
    print("\n".join(faults))
    print(f"{total} sentences, {len(faults)} faults")
    sys.exit(bool(faults))
