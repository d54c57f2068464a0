"""`/objects?key=...`: one object, with a preview, its metadata and links to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui import ui

from gateleg.host.actions import perform
from gateleg.host.actions.objects import NewLink, ObjectTarget, delete_object, sign_object
from gateleg.host.principal import Role
from gateleg.model.errors import S3KeyRefused
from gateleg.objects import ByteRange, ObjectMissing
from gateleg.web.console.actions import act, call_of
from gateleg.web.console.dialogs import button, carry_out
from gateleg.web.console.failures import empty
from gateleg.web.console.forms import Field
from gateleg.web.console.frame import Crumb, frame
from gateleg.web.console.lists import show_when_loaded
from gateleg.web.console.markup import ago, card, size_text, tag
from gateleg.web.console.objects.contents import content_address, excerpt, folder_address, folder_of, how_much, kind_of, name_of, path_to

if TYPE_CHECKING:
    from gateleg.objects import ObjectInfo
    from gateleg.web.console.frame import View
    from gateleg.web.console.objects.contents import Excerpt, Kind

_EXPIRIES = (("900", "15 minutes"), ("3600", "an hour"), ("86400", "a day"), ("604800", "seven days"))


async def object_page(key: str) -> None:
    """The page."""
    crumbs = [Crumb("Objects", "/objects"), *(Crumb(step.name, folder_address(step.prefix)) for step in path_to(folder_of(key)))]
    with frame(title=name_of(key) or key, section="objects", crumbs=crumbs, titled=False) as view:
        try:
            info = await view.host.objects.head(key)
        except (ObjectMissing, S3KeyRefused):
            tag("h1", name_of(key) or key)
            href = folder_address(folder_of(key))
            empty("folder", "Object not found", "It may have been deleted or moved.", button="Open its folder", href=href)
            return
        _head(view, info)
        with tag("div", classes="aside"):
            with tag("div", classes="stack gap-2"):
                await _preview(view, info)
            with tag("div", classes="stack gap-2"):
                _facts(info)
                _link(view, info)


def _head(view: View, info: ObjectInfo) -> None:
    async def delete() -> None:
        loss = (
            f"{info.key} will be deleted, {size_text(info.size)}. Items that refer to it will have a broken reference. This "
            "cannot be undone."
        )
        if await act(view, delete_object, ObjectTarget(key=info.key), loss=loss):
            ui.navigate.to(folder_address(folder_of(info.key)))

    with tag("div", classes="head"):
        with tag("div", classes="titles"):
            tag("h1", name_of(info.key))
            with tag("p", classes="meta"):
                tag("span", f"{info.content_type}, {size_text(info.size)}, changed ")
                ago(info.modified)
        with tag("div", classes="deeds"):
            with tag("a", classes="deed small", href=content_address(info.key), target="_blank", rel="noopener"):
                ui.icon("open_in_new")
                tag("span", "Open")
            with tag("a", classes="deed small", href=content_address(info.key), download=name_of(info.key)):
                ui.icon("download")
                tag("span", "Download")
            if view.may(Role.OPERATOR):
                button("Delete", delete, icon="delete", look="small danger")


async def _preview(view: View, info: ObjectInfo) -> None:
    kind = kind_of(info.content_type)
    source = content_address(info.key)
    name = name_of(info.key)
    with card("tight preview", label="Preview"):
        if kind == "image":
            tag("img", src=source, alt=name, loading="lazy")
        elif kind == "video":
            tag("video", src=source, controls=True, preload="metadata", playsinline=True, aria_label=name)
        elif kind == "audio":
            tag("audio", src=source, controls=True, preload="metadata", aria_label=name)
        elif kind == "html":
            # Scripts run sandboxed: without an origin they reach neither this page nor the host.
            tag("iframe", src=source, sandbox="allow-scripts", title=name, referrerpolicy="no-referrer")
        elif kind in ("json", "text"):
            await show_when_loaded(_read(view, info, kind), _text, saying="Reading the text")
        else:
            empty("box", "No preview", f"There is no preview for {info.content_type}. Download it to view it.")


async def _read(view: View, info: ObjectInfo, kind: Kind) -> Excerpt:
    """The text of a preview."""
    if info.size == 0:
        return excerpt(b"", "text", 0)
    content = await view.host.objects.get(info.key, range=ByteRange(0, min(how_much(kind), info.size) - 1))
    return excerpt(content, kind, info.size)


def _text(found: Excerpt) -> None:
    if found.note:
        tag("p", found.note, "note warning")
    if found.text:
        tag("pre", found.text, "code wrap", tabindex="0")
    else:
        empty("box", "Empty", "The object has no content.")


def _facts(info: ObjectInfo) -> None:
    facts = [("Key", info.key), ("Size", f"{info.size:,} bytes"), ("Type", info.content_type), ("ETag", info.etag)]
    facts += [("SHA-256", info.sha256)] if info.sha256 else []
    facts += [(name, value) for name, value in info.metadata.items()]
    with card(label="Properties"):
        tag("h3", "Properties")
        with tag("dl", classes="facts tall"):
            for name, text in facts:
                tag("dt", name)
                tag("dd", text, "mono" if name in ("Key", "ETag", "SHA-256") else "")
            tag("dt", "Changed")
            with tag("dd"):
                ago(info.modified)
        tag("button", "Copy key", "deed small", type="button", data_copy=info.key)


def _link(view: View, info: ObjectInfo) -> None:
    with card(label="Share a link"):
        tag("h3", "Share a link")
        tag("p", "Anyone with the link can read this object without signing in, until the link expires.", "meta")
        with tag("div", classes="line gap-1 low"):
            lasts = Field("Valid for", "3600", kind="choice", choices=_EXPIRIES)

            async def make() -> None:
                async def work() -> None:
                    signed = await perform(sign_object, call_of(view), NewLink(key=info.key, expires=int(lasts.text)))
                    link = f"{str(view.request.base_url).rstrip('/')}{signed.url}" if signed.url.startswith("/") else signed.url
                    box.clear()
                    with box:
                        tag("pre", link, "code wrap", tabindex="0")
                        tag("button", "Copy link", "deed small first", type="button", data_copy=link)

                await carry_out(view, Role.VIEWER, work)

            button("Create a link", make, icon="link")
        box = tag("div", classes="stack gap-1")
