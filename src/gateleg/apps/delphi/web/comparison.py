"""The page that compares two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui.element import Element

from gateleg.apps.delphi.runs.origin import VOTES_STAGE
from gateleg.apps.delphi.web.addresses import address_of, comment_address
from gateleg.apps.delphi.web.heading import run_title
from gateleg.apps.delphi.web.overviews import job_title
from gateleg.apps.delphi.web.run_differences import side_by_side
from gateleg.web.console.components import card, empty, section, show_when_loaded, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.apps.delphi.reports.findings import Findings
    from gateleg.apps.delphi.runs.comparison import Comparison
    from gateleg.apps.delphi.web.overviews import Overview, PipelineRun
    from gateleg.apps.delphi.web.run_differences import SideBySide
    from gateleg.web.console.components import View

_CHANGES = 10
_KINDS = {"kept": "Kept", "split": "Split", "merged": "Merged", "new": "New", "gone": "Gone"}


class TwoMaps(Element, component="delphi_two_maps.js"):
    """The maps of participants of two runs. A participant pointed at on one is marked on the other."""

    def __init__(self, sources: Sequence[str], titles: Sequence[str], looks: Sequence[Sequence[int]]) -> None:
        super().__init__()
        #: for each group the number of its colour and shape
        self.props["looks"] = [list(one) for one in looks]
        self.props["sources"] = list(sources)
        self.props["titles"] = list(titles)


async def compare_part(view: View, shown: Overview) -> None:
    """Two runs, given in the address as `left` and `right`; by default the newest and the one before it."""
    grouped = [one for one in shown.pipeline_runs if one.completed(VOTES_STAGE)]
    if len(grouped) < 2:
        empty("people", "There is only one run", "Map the conversation again, with other settings or more votes, to compare both here.")
        return
    asked = view.request.query_params
    by_id = {str(one.job_id): one for one in grouped}
    right = by_id.get(asked.get("right", "")) or next(one for one in grouped if str(one.job_id) != asked.get("left"))
    left = by_id.get(asked.get("left", "")) or next((one for one in grouped if one.at < right.at), grouped[-1])
    _chooser(shown, left, right)
    await show_when_loaded(side_by_side(view.host.store, left, right), lambda found: _Page(shown, left, right, found).show())


def _chooser(shown: Overview, left: PipelineRun, right: PipelineRun) -> None:
    where = address_of(shown.conversation.conversation_id, "compare")
    with tag("form", classes="line gap-2", method="get", action=where):
        for name, title, chosen in (("left", "Left", left), ("right", "Right", right)):
            with tag("label", classes="line gap-1 meta"):
                tag("span", title)
                with tag("select", classes="box", name=name, data_submits=""):
                    for place, one in enumerate(shown.pipeline_runs):
                        if one.completed(VOTES_STAGE):
                            words = run_title(one, len(shown.pipeline_runs) - place)
                            tag("option", words, value=str(one.job_id), selected=True if one is chosen else None)


def looks_of(votes: Comparison, old: Sequence[int], new: Sequence[int]) -> tuple[list[int], list[int]]:
    """The numbers of the colours and shapes of both runs' groups. Matching groups have the same."""
    matched = {match.after: old.index(match.before) for match in votes.matches}
    free = iter(range(len(old), len(old) + len(new)))
    return list(range(len(old))), [matched[group] if group in matched else next(free) for group in new]


class _Page:
    """The parts of the comparison."""

    def __init__(self, shown: Overview, left: PipelineRun, right: PipelineRun, found: SideBySide) -> None:
        self._name = shown.conversation.conversation_id
        self._left, self._right = left, right
        self._found = found
        self._old, self._new = found.before.findings, found.after.findings

    def show(self) -> None:
        votes = self._found.votes
        moved = f"{len(votes.regrouped):,} of {votes.participants:,}" if votes.regrouped else f"None of {votes.participants:,}"
        tag("p", f"{moved} participants who are grouped in both runs changed their group. {_similarity(votes.agreement)}")
        sources = [f"/api/delphi/runs/{one.job_id}/atlas" for one in (self._left, self._right)]
        looks = looks_of(votes, [group.group_id for group in self._old.groups], [group.group_id for group in self._new.groups])
        TwoMaps(sources, ["Left", "Right"], looks)
        with tag("div", classes="halves"):
            self._groups(votes)
            self._settings()
        self._comments(votes)
        with tag("div", classes="halves"):
            self._consensus("Common ground gained", votes.consensus_gained, self._new, self._right)
            self._consensus("Common ground lost", votes.consensus_lost, self._old, self._left)
        self._topics()

    def _settings(self) -> None:
        with card("stack gap-1", label="Settings"):
            tag("h3", "Settings that differ")
            if not self._found.settings:
                tag("p", "None. Both runs had the same settings and the same votes.", "meta")
                return
            with tag("table", classes="delphi-table"):
                _header("What", "Setting", "Left", "Right")
                with tag("tbody"):
                    for one in self._found.settings:
                        cells = ("votes", "earlier upload", "later upload") if one.name == "upload" else None
                        _row(job_title(one.stage), *(cells or (one.name.replace("_", " "), _text(one.before), _text(one.after))))

    def _groups(self, votes: Comparison) -> None:
        """The numbers of participants by both groups: a row for each group on the left, a column for each on the right."""
        old = [group.group_id for group in self._old.groups]
        new = [group.group_id for group in self._new.groups]
        counts = {(move.before, move.after): move.participants for move in votes.moves}
        same = {(match.before, match.after) for match in votes.matches}
        with card("stack gap-1", label="Groups"):
            tag("h3", "Who is where")
            with tag("div", classes="delphi-scroll"), tag("table", classes="delphi-table"):
                _header("Left \\ Right", *(group.name for group in self._new.groups), "No group", right=True)
                with tag("tbody"):
                    for before in (*old, None):
                        with tag("tr"):
                            tag("th", "No group" if before is None else self._old.groups[old.index(before)].name, scope="row")
                            for after in (*new, None):
                                count = counts.get((before, after), 0)
                                look = "num right strong" if (before, after) in same else "num right"
                                tag("td", "" if before is after is None else f"{count:,}", look)
            for match in votes.matches:
                one, other = self._old.groups[old.index(match.before)], self._new.groups[new.index(match.after)]
                tag("p", f"{one.name} matches {other.name} on the right: {match.overlap:.0%} of all their members are in both.", "meta")

    def _comments(self, votes: Comparison) -> None:
        with section("Comments that changed most"):
            changes = [one for one in votes.changes if one.comment_id in self._new.statements][:_CHANGES]
            if not changes:
                tag("p", "None. Groups differ on every comment as much as before.", "meta")
                return
            with card("tight delphi-scroll", label="Comments that changed most"), tag("table", classes="delphi-table wide"):
                _header("Comment", "Groups differ: left", "right", "Change", right=True)
                with tag("tbody"):
                    for one in changes:
                        with tag("tr"):
                            with tag("td"):
                                self._link(self._new, one.comment_id, self._right)
                            tag("td", f"{one.before:.0%}", "num right")
                            tag("td", f"{one.after:.0%}", "num right")
                            tag("td", "more" if one.after > one.before else "less", "right")

    def _consensus(self, title: str, listed: Sequence[tuple[int, str]], findings: Findings, run: PipelineRun) -> None:
        with card("stack gap-1", label=title):
            tag("h3", title)
            known = [(number, side) for number, side in listed if number in findings.statements]
            if not known:
                tag("p", "None.", "meta")
            with tag("ul", classes="stack gap-1"):
                for number, side in known:
                    with tag("li"):
                        self._link(findings, number, run)
                        tag("span", f" most {side}", "meta")

    def _topics(self) -> None:
        changes = self._found.topics
        with section("Topics"):
            if not changes:
                tag("p", "One of the runs has no topics.", "meta")
                return
            counts = [f"{sum(one.kind == kind for one in changes)} {word.lower()}" for kind, word in _KINDS.items()]
            tag("p", f"{', '.join(counts)}.", "meta")
            with card("tight delphi-scroll", label="Topics"), tag("table", classes="delphi-table wide"):
                _header("What", "Left", "Right", "Comments in both")
                with tag("tbody"):
                    for one in changes:
                        before = "; ".join(_topic(self._old, key) for key in one.before)
                        after = "; ".join(_topic(self._new, key) for key in one.after)
                        _row(_KINDS[one.kind], before or "–", after or "–", f"{one.comments:,}" if one.comments else "–")

    def _link(self, findings: Findings, number: int, run: PipelineRun) -> None:
        where = comment_address(self._name, number, str(run.job_id))
        tag("a", findings.statements[number].body, "link", href=where, dir="auto")


def _header(*titles: str, right: bool = False) -> None:
    with tag("thead"), tag("tr"):
        for place, title in enumerate(titles):
            tag("th", title, "right" if right and place else "", scope="col")


def _row(*cells: str) -> None:
    with tag("tr"):
        for cell in cells:
            tag("td", cell, dir="auto")


def _topic(findings: Findings, key: str) -> str:
    topic = findings.topic(key)
    return key if topic is None else f"{topic.name} ({len(findings.of_topic(topic))})"


def _text(value: object) -> str:
    return "not set" if value is None else {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)


def _similarity(agreement: float) -> str:
    if agreement >= 0.95:
        return "Both runs group them in the same way."
    return "Both runs group them similarly." if agreement >= 0.6 else "The runs group them differently."
