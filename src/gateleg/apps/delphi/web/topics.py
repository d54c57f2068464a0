"""The page of the topics, from coarse to fine: keywords, examples and votes of each, and renaming."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.reports.figures import statement_card, vote_rows
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.addresses import address_of, comment_address
from gateleg.apps.delphi.web.loaded_runs import load_run
from gateleg.host import Role
from gateleg.web.console.components import Field, ago, button, carry_out, empty, sheet, show_when_loaded, tag

if TYPE_CHECKING:
    from gateleg.apps.delphi.reports.findings import Count, Findings, Group
    from gateleg.apps.delphi.tables import TopicName
    from gateleg.apps.delphi.topics.stage import Topic
    from gateleg.apps.delphi.web.overviews import Overview
    from gateleg.apps.delphi.web.run_cache import LoadedRun
    from gateleg.web.console.components import View

_KEYWORDS, _EXAMPLES = 8, 3
#: The coarsest topics are expanded at first if there are fewer than this.
_OPEN = 8


async def topics_part(view: View, shown: Overview) -> None:
    """The topics of the selected run."""
    if shown.stages.votes is None or shown.stages.topics is None:
        empty("search", "No topics yet", "This run has not divided the comments into topics.")
        return
    await show_when_loaded(
        load_run(view.host.store, shown.stages.votes, shown.stages.topics), lambda loaded: _Tree(view, shown, loaded).show()
    )


def agreement_of(findings: Findings, topic: Topic) -> list[tuple[Group | None, Count]]:
    """The votes of everybody (None) and of each group on all comments of a topic."""
    from gateleg.apps.delphi.reports.findings import total

    own = findings.of_topic(topic)
    groups = [(group, total(statement.groups[group.place] for statement in own)) for group in findings.groups]
    return [(None, total(statement.everybody for statement in own)), *groups]


class _Tree:
    """The tree of the topics of a run."""

    def __init__(self, view: View, shown: Overview, loaded: LoadedRun) -> None:
        self._view = view
        self._loaded = loaded
        self._findings = loaded.findings
        self._name = shown.conversation.conversation_id
        self._run = view.request.query_params.get("run", "")
        self._may_rename = rules.may_change(view.principal, shown.conversation.group, shown.conversation.tenant)

    def show(self) -> None:
        layers = list(self._findings.topics)
        if not layers:
            empty("search", "No topics", "There are too few comments to divide.")
            return
        first, *finer = (f"{len(layer):,}" for layer in reversed(layers))
        words = f"{first} {'topic' if first == '1' else 'topics'}{''.join(f', divided into {count}' for count in finer)}"
        basis = "the words of comments and the votes on them" if self._findings.from_words else "the meaning of comments, not on votes"
        tag("p", f"{words}. Topics are based on {basis}.", "meta")
        with tag("div", classes="delphi delphi-topics"):
            for topic in sorted(layers[-1], key=lambda one: -len(one.comments)):
                self._topic(topic, is_open=len(layers[-1]) < _OPEN)

    def _topic(self, topic: Topic, *, is_open: bool = False) -> None:
        findings = self._findings
        members = findings.of_topic(topic)
        children = [child for key in topic.children if (child := findings.topic(key)) is not None]
        with tag("details", classes="delphi-topic", id=topic.key, open=True if is_open else None):
            with tag("summary"):
                tag("span", topic.name, "strong", dir="auto")
                tag("span", f"{len(members):,} {'comment' if len(members) == 1 else 'comments'}", "meta num")
            with tag("div", classes="stack gap-1"):
                self._facts(topic)
                for number in topic.examples[:_EXAMPLES]:
                    if number in findings.statements:
                        where = comment_address(self._name, number, self._run)
                        ui.html(statement_card(findings, findings.statements[number], where), sanitize=False)
                if len(children) > 1:
                    for child in sorted(children, key=lambda one: -len(one.comments)):
                        self._topic(child)

    def _facts(self, topic: Topic) -> None:
        words = ", ".join(keyword.term for keyword in topic.keywords[:_KEYWORDS])
        row = self._loaded.names[topic.key]
        with tag("div", classes="line gap-2"):
            tag("span", words, "meta", dir="auto")
            tag("a", "On the map", "link meta", href=address_of(self._name, run=self._run, topic=topic.key))
            if self._may_rename:
                rename = button("Rename", lambda: self._rename(row), icon="edit", look="small bare")
                rename.props["aria-label"] = f"Rename {topic.name}"
        # If the current name contains words of a rejected comment, neither it nor the earlier names are shown.
        for earlier in reversed(row.earlier) if topic.name == row.topic_name else ():
            with tag("p", classes="meta"):
                tag("span", f"Called “{earlier.topic_name}” until ")
                ago(earlier.until)
                tag("span", f"; renamed by {row.model_name}." if earlier is row.earlier[-1] else ".")
        ui.html(vote_rows(agreement_of(self._findings, topic), f"Votes on all comments of {topic.name}"), sanitize=False)

    async def _rename(self, row: TopicName) -> None:
        with sheet("Rename the topic") as dialog:
            field = Field("Name", row.topic_name, required=True, on_enter=lambda: dialog.submit(field.text))
            tag("p", "Earlier names are kept in its history. Reports that exist keep the old name.", "meta")
            with tag("div", classes="deeds"):
                button("Cancel", lambda: dialog.submit(None))
                button("Rename", lambda: dialog.submit(field.text), look="first")
        name = await dialog
        dialog.delete()
        if name and await carry_out(self._view, Role.MEMBER, lambda: self._store_name(row, name), "Renamed"):
            ui.navigate.reload()

    async def _store_name(self, row: TopicName, name: str) -> None:
        from gateleg.apps.delphi.runs.topic_names import rename_topic

        view, store = self._view, self._view.host.store
        current = await store.find(StoredConversation, conversation_id=self._name, consistent=True)
        rules.check_change(view.principal, rules.check_visible(view.principal, current, self._name))
        renamed = await rename_topic(store, row.job_id, row.topic_key, name, view.principal.name)
        await view.host.audit.note(view.principal, "delphi.rename-topic", f"{row.job_id}/{row.topic_key}", name=renamed.topic_name)
