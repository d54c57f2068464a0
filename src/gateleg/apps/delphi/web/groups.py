"""The page of the groups: their representative comments, and shared, divisive and uncertain comments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.opinions.modes import how_found
from gateleg.apps.delphi.reports.certainty import certainty_of
from gateleg.apps.delphi.reports.figures import contrast_card, statement_card, vote_key
from gateleg.apps.delphi.reports.palette import colour
from gateleg.apps.delphi.runs.self_descriptions import mark_meta, suggestions_of
from gateleg.apps.delphi.web.addresses import address_of, comment_address
from gateleg.apps.delphi.web.loaded_runs import load_run
from gateleg.host import Role
from gateleg.web.console.components import button, card, carry_out, empty, section, show_when_loaded, tag

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gateleg.apps.delphi.reports.findings import Findings, Group, Statement
    from gateleg.apps.delphi.reports.markup import Markup
    from gateleg.apps.delphi.runs.self_descriptions import SuggestedComment
    from gateleg.apps.delphi.web.overviews import Overview
    from gateleg.apps.delphi.web.run_cache import LoadedRun
    from gateleg.web.console.components import View

#: The number of comments of each kind that are shown at first.
_MOST = 6
_SHARED = "Comments that a clear majority of every group agrees with."
_DIVIDED = "Comments that a majority of one group agrees with and a majority of another disagrees with."
_SUGGESTED = (
    "A program suggests these; nothing has been taken out. If a moderator marks one, later runs leave it out of groups, common ground and "
    "topics, and reports show it in a section of its own."
)
_UNSURE = "Comments that at least a fifth of the voters passed on."


async def groups_part(view: View, shown: Overview) -> None:
    """The groups of the selected run."""
    if shown.stages.votes is None:
        empty("people", "No groups yet", "This run has not finished finding groups.")
        return
    run = view.request.query_params.get("run", "")
    await show_when_loaded(
        load_run(view.host.store, shown.stages.votes, shown.stages.topics),
        lambda loaded: _show(loaded, shown.conversation.conversation_id, run),
    )
    await show_when_loaded(
        suggestions_of(view.host.store, shown.conversation.conversation_id), lambda found: _suggested(view, shown, found)
    )


def _suggested(view: View, shown: Overview, suggested: Sequence[SuggestedComment]) -> None:
    """The comments that may describe their authors, for moderators to decide."""
    name = shown.conversation.conversation_id
    if not suggested:
        return
    decides = rules.may_change(view.principal, shown.conversation.group, shown.conversation.tenant)

    async def mark(number: int) -> None:
        async def marked() -> None:
            upload = await mark_meta(
                view.host.store, name, {number}, check=lambda current: rules.check_upload(view.principal, current, None)
            )
            await view.host.audit.note(view.principal, "delphi.mark-meta", name, upload_id=str(upload.upload_id), comments=1, is_meta=True)

        if await carry_out(view, Role.MEMBER, marked, "Marked; map it again to see the groups without it"):
            ui.navigate.to(address_of(name, "groups"))

    with section("Comments about their authors?"):
        tag("p", _SUGGESTED, "meta")
        for one in suggested:
            with card(label=f"Comment {one.comment.comment_id}"):
                tag("p", one.comment.body, dir="auto")
                tag("p", one.suggestion.reason, "meta")
                if decides:
                    button("It is about its author", partial(mark, one.comment.comment_id), look="small")


def _show(loaded: LoadedRun, name: str, run: str) -> None:
    findings = loaded.findings

    def drawn(statement: Statement) -> Markup:
        return statement_card(findings, statement, comment_address(name, statement.comment_id, run))

    if not findings.groups:
        empty("people", "There are no groups", "Too few participants voted often enough to be compared.")
    else:
        grouped = f"{findings.totals.grouped:,} of {findings.totals.participants:,} participants voted often enough to be compared."
        with section("Groups"):
            how = how_found(findings.mode, findings.replayed, findings.order, findings.certainty.division)
            tag("p", f"{grouped} People who vote alike form a group. {how}", "meta")
            for text in certainty_of(findings):
                tag("p", text)
            with tag("div", classes="delphi"):
                ui.html(vote_key(), sanitize=False)
            with tag("div", classes="delphi-groups"):
                for group in findings.groups:
                    _group(findings, group, name, run)
        _list("What all groups share", _SHARED, findings.bridging(), drawn)
        _list("What divides them", _DIVIDED, findings.divisive(), drawn)
    _list("What many are unsure of", _UNSURE, findings.uncertain(), drawn)


def _group(findings: Findings, group: Group, name: str, run: str) -> None:
    from gateleg.apps.delphi.reports.findings import total

    share = group.size / max(1, findings.totals.grouped)
    with card("delphi", label=group.name):
        with tag("div", classes="line gap-1 spread"):
            with tag("h3", classes="line gap-1"):
                tag("span", classes="delphi-dot", aria_hidden="true").style(f"background:{colour(group.place)}")
                tag("span", group.name)
            tag("a", "On the map", "link meta", href=address_of(name, run=run, group=group.letter))
        tag("p", f"{group.size:,} {'person' if group.size == 1 else 'people'}, {share:.0%} of all grouped", "meta num")
        for one in group.representatives:
            if one.comment_id in findings.statements:
                statement = findings.statements[one.comment_id]
                others = total(count for place, count in enumerate(statement.groups) if place != group.place)
                tag("p", f"They {one.side} with:", "meta says")
                where = comment_address(name, one.comment_id, run)
                ui.html(contrast_card(group, statement, others, where), sanitize=False)
        if not group.representatives:
            tag("p", "No comment distinguishes this group beyond chance.", "meta")


def _list(title: str, about: str, statements: Sequence[Statement], drawn: Callable[[Statement], Markup]) -> None:
    with section(title, "delphi"):
        tag("p", about if statements else f"None. {about}", "meta")
        with tag("div", classes="delphi-statements"):
            for statement in statements[:_MOST]:
                ui.html(drawn(statement), sanitize=False)
        if len(statements) > _MOST:
            with tag("details", classes="stack"):
                tag("summary", f"{len(statements) - _MOST} more", "meta")
                with tag("div", classes="delphi-statements"):
                    for statement in statements[_MOST : 10 * _MOST]:
                        ui.html(drawn(statement), sanitize=False)
