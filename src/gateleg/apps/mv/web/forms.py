"""Forms with file uploads: a new video, and a file for an existing project."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nicegui.element import Element

from gateleg.apps.mv.planning.presets import PRESETS
from gateleg.web.console.components import UPLOAD_MODULE

if TYPE_CHECKING:
    from gateleg.apps.mv.settings import MVSettings


class CreateForm(Element, component="mv_create.js", esm=UPLOAD_MODULE):
    """The form of a new video, which creates the project, uploads its files and starts the work."""

    def __init__(self, settings: MVSettings, most: int) -> None:
        super().__init__()
        self.props["directors"] = [{"name": one.name, "title": one.title, "description": one.description} for one in PRESETS.values()]
        self.props["films"] = list(settings.film_models)
        self.props["usual"] = settings.director
        self.props["lines"] = settings.resolution
        self.props["most"] = most
