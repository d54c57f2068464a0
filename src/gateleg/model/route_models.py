"""Pydantic models of an entity for HTTP routes: bodies that create or change an item, and responses.

`class NewTask(InputModel[Task], exclude=["owner"])` has the attributes of `Task` that a client may send, with their types, constraints and
defaults; `include=[...]` lists the attributes to keep instead. Input and patch models have neither attributes that the model sets (stamps,
the version, counts) nor `hidden` ones; patch models do not have `read_only` ones either.
"""

from __future__ import annotations

import inspect
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from gateleg.model.errors import BadOption, DeclarationError, WrongCompletion
from gateleg.model.keys import spec_of
from gateleg.model.shapes import attr_type
from gateleg.model.types import Traits, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic.fields import FieldInfo

    from gateleg.model.attr import Attribute
    from gateleg.model.expressions.nodes import UpdateAction
    from gateleg.model.spec import Spec

__all__ = ["InputModel", "OutputModel", "PatchModel"]

E = TypeVar("E", bound=BaseModel)


# The bases without an entity are never used, so pydantic need not build them.
class _RouteModel(BaseModel, Generic[E], defer_build=True):
    """A pydantic model with attributes of an entity. A subclass may restrict them with `include` or `exclude`."""

    model_config = ConfigDict(extra="forbid", protected_namespaces=())

    __entity__: ClassVar[Any] = None

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """An attribute of the entity: type checkers do not see fields that are declared at run time."""
            ...

    else:

        def __class_getitem__(cls, entity: type[E]) -> type[_RouteModel[E]]:
            """The model for an entity."""
            if isinstance(entity, TypeVar):
                return cls
            if not (isinstance(entity, type) and issubclass(entity, BaseModel) and hasattr(entity, "__spec__")):
                raise DeclarationError(
                    f"{cls.__name__}[...] needs an entity, not {entity!r}.", fix="Use a subclass of Entity in the brackets."
                )
            namespace = {"__module__": entity.__module__, "__doc__": entity.__doc__}
            return type(cls)(f"{cls.__name__}_{entity.__name__}", (cls,), namespace, of=entity, defer_build=False)

    def __init_subclass__(
        cls, *, of: type[BaseModel] | None = None, include: Iterable[str] | None = None, exclude: Iterable[str] = (), **options: Any
    ) -> None:
        """Declare the attributes of the entity; in a subclass, remove those that are excluded or not included."""
        super().__init_subclass__(**options)
        annotations = inspect.get_annotations(cls)
        if of is not None:
            cls.__entity__ = of
            for attribute in spec_of(of).attributes.values():
                if cls._admits(spec_of(of), attribute):
                    annotations = {**annotations, attribute.name: attr_type(attribute.annotation)}
                    setattr(cls, attribute.name, cls._declare(attribute))
        for name in cls._left_out(include, exclude):
            annotations = {**annotations, name: ClassVar[Any]}
            setattr(cls, name, None)
        cls.__annotations__ = annotations
        if of is None and cls.__entity__ is None and cls.__bases__[0].__bases__ == (_RouteModel, Generic) and cls.__bases__[1:] == ():
            kind = cls.__bases__[0].__name__
            raise BadOption(f"{cls.__name__} names no entity.", fix=f"Name it in brackets: class {cls.__name__}({kind}[TheEntity]).")

    @classmethod
    def _left_out(cls, include: Iterable[str] | None, exclude: Iterable[str]) -> list[str]:
        """The inherited fields that a subclass removes."""
        for option, names in (("include", include), ("exclude", exclude)):
            if isinstance(names, str):
                raise BadOption(
                    f"{cls.__name__}: {option}= takes a list of attributes, and was given a text.", fix=f"Write {option}=[{names!r}]."
                )
        included, excluded = None if include is None else tuple(include), tuple(exclude)
        known = [] if cls.__entity__ is None else list(cls.model_fields)
        for name in (*(included or ()), *excluded):
            if cls.__entity__ is None:
                fix = f"Add the entity in brackets: class {cls.__name__}({cls.__mro__[1].__name__}[TheEntity], ...)."
                raise BadOption(f"{cls.__name__} has include or exclude, but no entity.", fix=fix)
            if name not in known:
                reason = cls._absence(spec_of(cls.__entity__), name)
                fix = f"It has {', '.join(known) or 'no attributes'}." if reason else did_you_mean(name, known)
                raise BadOption(f"{cls.__name__} has no {name!r} to include or exclude{reason}.", fix=fix)
        return [name for name in known if name in excluded or (included is not None and name not in included)]

    @classmethod
    def _absence(cls, spec: Spec[Any], name: str) -> str:
        """Why the model of the entity does not have one of the entity's attributes; empty if it could, or is not an attribute."""
        attribute = spec.attributes.get(name)
        if attribute is None or cls._admits(spec, attribute):
            return ""
        if attribute.info.exclude:
            return ": it is hidden"
        if attribute.state:
            return ": a state changes by transitions only"
        if _is_set_by_model(spec, attribute):
            return ": the store sets it"
        return ": it is part of the primary key" if name in spec.reachable(spec.key) else ": it is read-only"

    @classmethod
    def _entity_fields(cls) -> list[str]:
        """The fields that are attributes of the entity; a subclass may declare others."""
        return [name for name in cls.model_fields if name in spec_of(cls.__entity__).attributes]

    @classmethod
    def _admits(cls, spec: Spec[Any], attribute: Attribute) -> bool:
        raise NotImplementedError

    @classmethod
    def _declare(cls, attribute: Attribute) -> FieldInfo:
        return _plain_field(attribute)


class InputModel(_RouteModel[E], Generic[E]):
    """The request body that creates an item: `class NewTask(InputModel[Task], exclude=["owner"])`.

    It has all attributes except those that the model sets, `hidden` ones and states.
    """

    def entity(self, **values: Any) -> E:
        """A new instance from the attributes that the client sent, and values that the server adds: `body.entity(owner=principal.name)`."""
        sent = {name: getattr(self, name) for name in self._entity_fields() if name in self.model_fields_set}
        try:
            instance: E = self.__entity__(**{**sent, **values})
        except ValidationError as error:
            raise self._servers_mistake(error, values) or error from None
        return instance

    def _servers_mistake(self, error: ValidationError, values: Mapping[str, Any]) -> WrongCompletion | None:
        """The error for a route that omits or misspells attributes that clients do not send, because no client can correct it."""
        kinds = {str(problem["loc"][0]): problem["type"] for problem in error.errors() if problem["loc"]}
        name, entity = type(self).__name__, self.__entity__.__name__
        unknown = [attribute for attribute in values if kinds.get(attribute) == "extra_forbidden"]
        if unknown:
            fix = did_you_mean(unknown[0], list(self.__entity__.model_fields))
            return WrongCompletion(f"{name}.entity was given {unknown[0]}, which is not an attribute of {entity}.", fix=fix)
        missing = [attribute for attribute, kind in kinds.items() if kind == "missing" and attribute not in type(self).model_fields]
        if missing:
            fix = f"Give what the client does not send: .entity({', '.join(f'{attribute}=...' for attribute in missing)})."
            return WrongCompletion(f"{name}.entity needs {', '.join(missing)} for {entity}.", fix=fix)
        return None

    @classmethod
    def _admits(cls, spec: Spec[Any], attribute: Attribute) -> bool:
        return not _is_set_by_model(spec, attribute) and not attribute.state


class PatchModel(_RouteModel[E], Generic[E]):
    """The request body that changes an item. Every attribute may be omitted; null removes an optional attribute.

    It has no key attributes, no `read_only` attributes, and no states, which only change by transitions.
    """

    def actions(self) -> list[UpdateAction[E]]:
        """The update actions for the attributes that the client sent: `store.patch(Task, *body.actions(), task_id=task_id)`."""
        sent = {name: getattr(self, name) for name in self._entity_fields() if name in self.model_fields_set}
        return [getattr(self.__entity__, name).set(value) for name, value in sent.items()]

    @classmethod
    def _admits(cls, spec: Spec[Any], attribute: Attribute) -> bool:
        in_key = attribute.name in spec.reachable(spec.key)
        return not (_is_set_by_model(spec, attribute) or attribute.state or attribute.read_only or in_key)

    @classmethod
    def _declare(cls, attribute: Attribute) -> FieldInfo:
        info = _plain_field(attribute)
        info.default, info.default_factory = None, None
        return info


class OutputModel(_RouteModel[E], Generic[E]):
    """The response for an item: all attributes except `hidden` ones. `TaskOut.of(task)` creates it."""

    @classmethod
    def of(cls, instance: E) -> Self:
        """The model of an instance. Values are not validated, because stored values may violate newer bounds."""
        values: dict[str, Any] = {name: getattr(instance, name) for name in cls._entity_fields()}
        return cls.model_construct(**values)

    @classmethod
    def _admits(cls, spec: Spec[Any], attribute: Attribute) -> bool:
        return not attribute.info.exclude


def _is_set_by_model(spec: Spec[Any], attribute: Attribute) -> bool:
    """Whether clients cannot send it: it is hidden, or the model sets it."""
    hidden = bool(attribute.info.exclude)
    return hidden or attribute.traits.stamp is not None or attribute.is_special("version") or attribute.name in spec.counted


def _plain_field(attribute: Attribute) -> FieldInfo:
    """The pydantic field of an attribute without traits and aliases, so that clients use the Python names."""
    info = copy(attribute.info)
    info.metadata = [entry for entry in info.metadata if not isinstance(entry, Traits)]
    info.alias = info.validation_alias = info.serialization_alias = None
    info.frozen = None
    return info
