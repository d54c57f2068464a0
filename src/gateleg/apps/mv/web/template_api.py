"""`/api/mv`: routes of templates."""

from datetime import datetime
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, Field

from gateleg.apps.mv import rules, templates
from gateleg.apps.mv.api import project_view, visible_project
from gateleg.apps.mv.tables import Template
from gateleg.apps.mv.web.bodies import CAMEL
from gateleg.apps.mv.web.views import ProjectView, View
from gateleg.store import delete
from gateleg.web.api.calls import ApiCall, Using
from gateleg.web.api.pages import Cursor, Limit, Listing

router = APIRouter()


class TemplateView(View):
    """A template."""

    template_id: UUID
    name: str
    placeholders: list[str]
    scene_count: int
    created_at: datetime


class NewTemplate(BaseModel):
    """The name of a template, and the words in the project's texts that become placeholders: `{"city": "Austin"}`."""

    model_config = CAMEL
    name: str = Field(min_length=1, max_length=100)
    placeholders: dict[str, str] = Field(default_factory=dict, max_length=20)


class Filling(BaseModel):
    """A text for each placeholder."""

    model_config = CAMEL
    values: dict[str, str] = Field(default_factory=dict, max_length=50)


def _view(template: Template) -> TemplateView:
    return TemplateView(
        template_id=template.template_id,
        name=template.name,
        placeholders=templates.placeholders(template),
        scene_count=len(template.scenes),
        created_at=template.created_at,
    )


async def _found(call: ApiCall, template_id: UUID) -> Template:
    found = await call.host.store.find(Template, template_id=template_id, consistent=True)
    rules.check_visible(call.principal, found, f"template {template_id}")
    assert found is not None
    return found


@router.post("/projects/{project_id}/template", status_code=201)
async def save_template(call: Using, project_id: UUID, new: NewTemplate) -> TemplateView:
    """Save the options and scene texts of a project as a template of the caller."""
    await visible_project(call, project_id)
    owner = call.principal.owner
    return _view(await templates.save_template(call.host.store, project_id, owner, new.name, new.placeholders))


@router.get("/templates")
async def list_templates(call: Using, limit: Limit = 50, cursor: Cursor = None) -> Listing[TemplateView]:
    """List the caller's templates, newest first."""
    page = await call.host.store.page(Template.of_owner, owner_id=call.principal.owner, limit=limit, cursor=cursor)
    return Listing(items=[_view(found) for found in page], next=page.next)


@router.post("/templates/{template_id}/projects", status_code=201)
async def use_template(call: Using, template_id: UUID, filling: Filling) -> ProjectView:
    """Create a project from a template, with values for its placeholders."""
    template = await _found(call, template_id)
    project = await templates.use_template(call.host.store, template, call.principal.owner, filling.values)
    await call.note("mv.create", str(project.project_id), template=str(template_id))
    return await project_view(call, project.project_id)


@router.delete("/templates/{template_id}", status_code=204)
async def delete_template(call: Using, template_id: UUID) -> None:
    """Delete a template. Projects made from it are kept."""
    template = await _found(call, template_id)
    rules.check_changeable(call.principal, template)
    await call.host.store.run(delete(template))
