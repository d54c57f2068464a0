"""What a browser asks before a page is left."""

from playwright.sync_api import Dialog, Page


def asked_of(page: Page) -> list[str]:
    """The questions that the browser asks before a page is left, all of which are answered with no."""
    kinds: list[str] = []

    def answer(dialog: Dialog) -> None:
        kinds.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", answer)
    return kinds
