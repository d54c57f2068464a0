"""The upload forms of the console: for a new conversation at `/delphi?upload=new`, and for an existing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui
from nicegui.element import Element

from gateleg.apps.delphi import rules
from gateleg.apps.delphi.runs.run_tables import StoredConversation
from gateleg.apps.delphi.web.addresses import HOME, address_of
from gateleg.apps.delphi.web.heading import WHOLE
from gateleg.host import Role
from gateleg.host.errors import Unknown
from gateleg.web.console.components import UPLOAD_MODULE, Crumb, card, empty, frame, show_not_found, tag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gateleg.host import Principal


class UploadForm(Element, component="delphi_upload.js", esm=UPLOAD_MODULE):
    """A form that sends the files of a conversation to the API, and shows progress and problems by line."""

    def __init__(self, most: int, *, name: str = "", topic: str = "", groups: Sequence[tuple[str, str]] = ()) -> None:
        super().__init__()
        self.props["most"] = most
        self.props["conversation"] = name
        self.props["known"] = topic
        self.props["groups"] = [list(one) for one in groups]
        self.props["pipeline"] = WHOLE


def group_choices(principal: Principal) -> list[tuple[str, str]]:
    """The groups that a new conversation may belong to; operators may also open it to everybody."""
    everybody = [("", "everybody")] if principal.may(Role.OPERATOR) else []
    return [*everybody, *((group, group) for group in sorted(principal.groups))]


def may_upload(principal: Principal) -> bool:
    """Whether the principal may upload new conversations."""
    return bool(group_choices(principal))


def new_form(principal: Principal, most: int) -> None:
    """The form for a new conversation."""
    with card("narrow stack gap-2", label="New conversation"):
        tag("h2", "New conversation")
        _hint()
        UploadForm(most, groups=group_choices(principal))


async def upload_page(conversation: str) -> None:
    """The page with the form for a new upload to a conversation."""
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
            empty("box", "You may not upload to this conversation", "Members of its group and operators may upload to it.")
            return
        with card("narrow stack gap-2", label="Upload"):
            tag(
                "p",
                "Later runs read the new files instead of the earlier ones. Earlier runs keep their results, except for comments that "
                "the new files reject.",
                "meta",
            )
            _hint()
            UploadForm(view.host.settings.upload_limit, name=conversation, topic=known.topic)


def _hint() -> None:
    ui.html(
        "<p class='meta'>Two files of an export are enough: <b>votes</b> (timestamp, comment-id, voter-id, vote) and <b>comments</b> "
        "(comment-id, comment-body). Files with flags, moderated participants and the summary are accepted too, and a ZIP file of them. "
        "Files are recognized by their columns.</p><p class='meta'>Or one <b>spreadsheet</b> (XLSX, ODS or CSV): one row per person, one "
        "column per statement, and answers such as agree, disagree and pass, or points from 1 to 5.</p>",
        sanitize=False,
    )
