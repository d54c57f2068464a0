"""Uploading a conversation from a page: a new one at `/delphi?upload=new`, or more of one that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui
from nicegui.element import Element

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.heading import WHOLE
from gateleg.apps.delphi.web.places import HOME, address_of
from gateleg.web import Role
from gateleg.web.console.components import UPLOAD_MODULE, Crumb, card, empty, frame, show_not_found, tag
from gateleg.web.errors import Unknown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.web import Principal


class UploadForm(Element, component="delphi_upload.js", esm=UPLOAD_MODULE):
    """A form for the files of a conversation, which it sends to the API: with progress, and with what is wrong by line."""

    def __init__(self, most: int, *, name: str = "", topic: str = "", groups: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__()
        self.props["most"] = most
        self.props["conversation"] = name
        self.props["known"] = topic
        self.props["groups"] = [list(one) for one in groups]
        self.props["pipeline"] = WHOLE


def group_choices(principal: Principal) -> list[tuple[str, str]]:
    """Whose a new conversation may be: for operators also everybody's."""
    everybody = [("", "everybody who is let in")] if principal.may(Role.OPERATOR) else []
    return [*everybody, *((group, group) for group in sorted(principal.groups))]


def may_upload(principal: Principal) -> bool:
    """Whether somebody may upload a new conversation at all."""
    return bool(group_choices(principal))


def new_form(principal: Principal, most: int) -> None:
    """The form for a new conversation."""
    with card("narrow stack gap-2", label="New conversation"):
        tag("h2", "New conversation")
        _hint()
        UploadForm(most, groups=group_choices(principal))


async def upload_page(conversation: str) -> None:
    """The form for more votes and comments of a conversation."""
    crumbs = [Crumb("Opinion maps", HOME), Crumb(conversation, address_of(conversation))]
    with frame(title="Upload", section="delphi", crumbs=crumbs, titled=False) as view:
        found = await view.host.store.find(StoredConversation, conversation_id=conversation, consistent=True)
        try:
            known = rules.check_visible(view.principal, found, conversation)
        except Unknown:
            show_not_found(
                "conversation", button="All conversations", href=HOME, sentence="It may have another name, or you may not see it."
            )
            return
        tag("h1", f"Upload to {known.topic or conversation}", dir="auto")
        if not rules.may_change(view.principal, known.group, known.tenant):
            empty("box", "You may look at this conversation", "Somebody of its group, or an operator, may upload to it.")
            return
        with card("narrow stack gap-2", label="Upload"):
            tag(
                "p",
                "What is uploaded replaces what later runs read. Earlier runs keep what they have read, except for comments that "
                "are rejected now.",
                "meta",
            )
            _hint()
            UploadForm(view.host.settings.upload_limit, name=conversation, topic=known.topic)


def _hint() -> None:
    ui.html(
        "<p class='meta'>Two files of an export are enough: <b>votes</b> (timestamp, comment-id, voter-id, vote) and <b>comments</b> "
        "(comment-id, comment-body). Flags of comments, moderated participants and the summary are taken too, and a ZIP of all of them. "
        "Files are recognised by their columns.</p><p class='meta'>Or one <b>spreadsheet</b> (XLSX, ODS or CSV): a row for each person, a "
        "column for each statement, and answers such as agree, disagree and pass, or points from 1 to 5.</p>",
        sanitize=False,
    )
