"""HTTP routes of actions: the fields in the path are its parameters, the other fields its body."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Body, Depends, Header, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from gateleg.host.actions import ActionCall, perform
from gateleg.web.access import principal_of
from gateleg.web.bodies import body_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gateleg.host.actions import Action

__all__ = ["add_action", "routes_of"]

#: The body of a route that takes a file.
_RAW = {"requestBody": {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}
_PARAMETER = re.compile(r"\{(\w+)(?::path)?\}")


def routes_of(actions: Iterable[Action[Any, Any]], *, tag: str, dependencies: Sequence[Any] = ()) -> APIRouter:
    """A router with the routes of some actions."""
    router = APIRouter(tags=[tag], dependencies=list(dependencies))
    for action in actions:
        add_action(router, action)
    return router


def add_action(router: APIRouter, action: Action[Any, Any]) -> None:
    """Add the route of an action."""
    method, path = action.http.split()
    router.add_api_route(
        path,
        _endpoint(action, path),
        methods=[method],
        name=action.name,
        # A path that is relative to an application's router gets its id there, from all of it.
        operation_id=re.sub(r"\W", "_", action.name) if path.startswith("/api/") else None,
        summary=action.title,
        description=action.help,
        response_model=action.reply_type,
        openapi_extra=_RAW if action.raw_body else None,
        status_code=204 if action.reply_type is None else 200 if action.made is None else 201,
    )


def body_model(action: Action[Any, Any], path: str) -> type[BaseModel] | None:
    """The body of an action's route: the input without what is in the path, the query and headers. None if nothing is left."""
    inside = {*_PARAMETER.findall(path), *action.query, *([action.if_match] if action.if_match else [])}
    if not inside:
        return action.input
    fields: dict[str, Any] = {
        name: (info.rebuild_annotation(), info) for name, info in action.input.model_fields.items() if name not in inside
    }
    if not fields:
        return None
    return create_model(f"{action.input.__name__}Body", __config__=ConfigDict(extra="forbid"), __doc__=action.input.__doc__, **fields)


def _endpoint(action: Action[Any, Any], path: str) -> Callable[..., Any]:
    body = None if action.raw_body else body_model(action, path)
    inside = _PARAMETER.findall(path)
    query = [name for name in action.input.model_fields if name not in (*inside, action.raw_body)] if action.raw_body else action.query

    async def endpoint(call: ActionCall, request: Request, response: Response, **sent: Any) -> Any:
        if action.raw_body:
            sent[action.raw_body] = request.stream()
        content: BaseModel | None = sent.pop("body", None)
        values = {} if content is None else {name: getattr(content, name) for name in content.model_fields_set}
        try:
            given = action.input.model_validate({**values, **sent})
        except ValidationError as error:
            # Each part was valid by itself: they do not fit together.
            raise RequestValidationError(error.errors()) from error
        result = await perform(action, call, given)
        if action.reply_type is None:
            return Response(status_code=204)
        if action.made is not None:
            response.status_code = 201 if action.created(result) else 200
            if place := action.made(result):
                response.headers["Location"] = place
        return action.reply(result)

    parameters = [
        inspect.Parameter("call", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[ActionCall, Depends(_caller_of(action))]),
        inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request),
        inspect.Parameter("response", inspect.Parameter.KEYWORD_ONLY, annotation=Response),
    ]
    for name in (*inside, *query):
        info = action.input.model_fields[name]
        default = inspect.Parameter.empty if info.is_required() else info.default
        annotation = info.rebuild_annotation()
        if name not in inside:
            annotation = Annotated[annotation, Query(description=info.description)]
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default))
    if action.if_match:
        header = Annotated[str | None, Header(alias="If-Match", description=action.input.model_fields[action.if_match].description)]
        parameters.append(inspect.Parameter(action.if_match, inspect.Parameter.KEYWORD_ONLY, annotation=header, default=None))
    if body is not None:
        optional = all(not info.is_required() for info in body.model_fields.values())
        annotation = Annotated[body | None, Body()] if optional else Annotated[body, Body()]
        default = None if optional else inspect.Parameter.empty
        parameters.append(inspect.Parameter("body", inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default))
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    endpoint.__doc__ = action.help
    return body_limit("upload")(endpoint) if action.raw_body else endpoint


def _caller_of(action: Action[Any, Any]) -> Callable[[Request], ActionCall]:
    """The caller of a route, who is refused before the body is read, as far as the place decides."""

    def caller(request: Request) -> ActionCall:
        call = ActionCall(request.app.state.host, principal_of(request), request.state.request_id)
        place = {name: request.query_params[name] for name in action.query if name in request.query_params}
        action.check_early(call, action.input.model_construct(**request.path_params, **place))
        return call

    return caller
