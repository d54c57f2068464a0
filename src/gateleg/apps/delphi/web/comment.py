"""The page of one comment: its votes by group with intervals, and what they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.delphi.reports.figures import vote_key, vote_rows
from gateleg.apps.delphi.web.addresses import address_of
from gateleg.apps.delphi.web.loaded_runs import load_run
from gateleg.web.console.components import empty, section, show_when_loaded, tag

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gateleg.apps.delphi.reports.findings import Findings, Statement
    from gateleg.apps.delphi.web.overviews import Overview
    from gateleg.apps.delphi.web.run_cache import LoadedRun
    from gateleg.web.console.components import View


async def comment_part(view: View, shown: Overview, number: int) -> None:
    """A comment of the selected run."""
    if shown.stages.votes is None:
        empty("people", "No votes yet", "This run has not finished counting them.")
        return
    run = view.request.query_params.get("run", "")
    await show_when_loaded(
        load_run(view.host.store, shown.stages.votes, shown.stages.topics),
        lambda loaded: _show(loaded, shown.conversation.conversation_id, number, run),
    )


def _show(loaded: LoadedRun, name: str, number: int, run: str) -> None:
    findings = loaded.findings
    statement = findings.statements.get(number)
    if statement is None:
        why = "This run has no comment with this number, or moderators removed it."
        empty("search", "Comment not found", why, button="Back to the map", href=address_of(name, run=run))
        return
    with section(f"Comment {number}", "narrow delphi"):
        tag("blockquote", statement.body, "delphi-quote", dir="auto")
        with tag("p", classes="line gap-1"):
            for key in reversed(statement.topics):
                topic = findings.topic(key)
                if topic is not None:
                    tag("a", topic.name, "plain-chip", href=f"{address_of(name, 'topics', run=run)}#{key}", dir="auto")
            tag("a", "On the map", "link meta", href=address_of(name, run=run, comment=number))
        ui.html(vote_key(), sanitize=False)
        groups = list(zip(findings.groups, statement.groups, strict=True))
        ui.html(vote_rows([(None, statement.everybody), *groups], f"Votes on comment {number}"), sanitize=False)
        with tag("ul", classes="stack gap-1"):
            for sentence in meanings(findings, statement):
                tag("li", sentence)


def meanings(findings: Findings, statement: Statement) -> Iterator[str]:
    """Sentences on what the votes on a comment mean."""
    for group in findings.groups:
        for one in group.representatives:
            if one.comment_id == statement.comment_id:
                yield f"It sets {group.name} apart: a larger share of this group than of the others {one.side}s with it."
    if any(one is statement for one in findings.bridging()):
        yield "A clear majority of every group agrees with it."
    if any(one is statement for one in findings.divisive()):
        yield f"It divides the groups: on average, two of them differ by {statement.divisiveness:.0%} of their votes."
    if any(one is statement for one in findings.uncertain()):
        yield f"Many are unsure: {statement.everybody.share('pass'):.0%} of {statement.everybody.votes:,} passed."
    if not statement.everybody.enough:
        yield "It has too few votes to state shares."
