"""`Entity` and `Record`: pydantic models whose class attributes are expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, dataclass_transform

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel, to_pascal

from gateleg.model.attr import Attr, attribute_of
from gateleg.model.build import build_spec
from gateleg.model.errors import BadOption, DeclarationError
from gateleg.model.fields import required
from gateleg.model.layout import Counter, Key
from gateleg.model.patterns import Pattern
from gateleg.model.shapes import UNKNOWN
from gateleg.model.tables import Unique
from gateleg.model.types import did_you_mean

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass

    from gateleg.model.spec import Spec, Table
    from gateleg.model.wire import Item
else:
    # pydantic's metaclass is private, but it is the type of BaseModel.
    ModelMetaclass = type(BaseModel)

Case = Literal["snake", "camel", "pascal"]
_CASES = {"snake": None, "camel": to_camel, "pascal": to_pascal}


def _read_case(cls: type, case: str) -> Any:
    """The function that converts attribute names to a naming convention; None for snake case."""
    if case not in _CASES:
        raise BadOption(f"{cls.__name__}: case={case!r} is not a naming convention.", fix=did_you_mean(case, _CASES))
    return _CASES[case]


@dataclass_transform(kw_only_default=True, field_specifiers=(required,))
class ModelMeta(ModelMetaclass):
    """Makes `Job.status` an expression. Hidden from type checkers, so that a misspelt `Job.statsu` remains an error for them."""

    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            attrs = cls.__dict__.get("__attrs__")
            if attrs is not None and name in attrs:
                return attrs[name]
            # Only the class's own fields: while pydantic collects those of a subclass, inherited names must look unset.
            if name.startswith("_") or not cls.__dict__.get("__pydantic_fields__"):
                return super().__getattr__(name)
            found = attribute_of(cls, name)
            if attrs is None:
                type.__setattr__(cls, "__attrs__", attrs := {})
            attrs[name] = found
            return found

        def __setattr__(cls, name: str, value: Any) -> None:
            if "__own_spec__" in cls.__dict__ and name in cls.__dict__.get("__pydantic_fields__", ()):
                raise AttributeError(f"{cls.__name__}.{name} is an attribute of every item: set it in an instance, not in the class.")
            super().__setattr__(name, value)

    @property
    def __spec__(cls) -> Spec[Any]:
        """The spec of an entity, built with the class, or at first use if its types were not yet defined."""
        spec: Spec[Any] | None = cls.__dict__.get("__own_spec__")
        if spec is None:
            table: Table | None = cls.__dict__.get("__table__")
            if table is None:
                raise DeclarationError(f"{cls.__name__} has no table.", fix=f"Declare class {cls.__name__}(Entity, table=...).")
            cast("type[BaseModel]", cls).model_rebuild()
            spec = build_spec(cls, table, cls.__dict__["__tag__"], cls.__dict__["__schema_number__"])
            type.__setattr__(cls, "__own_spec__", spec)
        return spec


class Record(BaseModel, metaclass=ModelMeta):
    """A map inside an item, declared as a pydantic model.

    The class option `case="camel"` converts its attribute names on the wire. Attributes that the class does not declare are kept, and
    written back with the item.
    """

    model_config = ConfigDict(extra="forbid", validate_assignment=True, protected_namespaces=())

    __wire_case__: ClassVar[Any]

    def __init_subclass__(cls, *, case: Case | None = None, **options: Any) -> None:
        """Note the naming convention."""
        super().__init_subclass__(**options)
        if case is not None:
            type.__setattr__(cls, "__wire_case__", _read_case(cls, case))


class Entity(BaseModel, metaclass=ModelMeta):
    """A kind of item, declared as a pydantic model: `class Job(Entity, table=jobs)`.

    Class options: `table`, the table; `tag`, the value of the table's tag attribute in items of this entity; `case`, the naming convention
    of attributes on the wire ("camel" turns project_id into projectId); `schema`, a number to increase when older items need an upcaster.
    A class without a table is a base class for entities. Mistakes in the declaration raise a `DeclarationError` at import.

    If other programs write the table too, a class method `__read_foreign__` may convert an item (in DynamoDB's JSON) to the form that the
    model writes. It is called for items that are not in the form that the model writes, and must neither raise nor change its argument.
    """

    model_config = ConfigDict(
        extra="forbid", validate_assignment=True, protected_namespaces=(), ignored_types=(Key, Pattern, Unique, Counter, Attr)
    )

    __wire_case__: ClassVar[Any]

    if TYPE_CHECKING:
        #: the table of the class; None, whatever its type says, for a base without one
        __table__: ClassVar[Table]

    def __init_subclass__(
        cls, *, table: Table | None = None, tag: str | None = None, case: Case | None = None, schema: int = 1, **options: Any
    ) -> None:
        """Note the options; the spec is built once pydantic has finished the class."""
        try:
            super().__init_subclass__(**options)
        except TypeError as error:
            if not options:
                raise
            unknown = next(iter(options))
            fix = did_you_mean(unknown, ("table", "tag", "case", "schema"))
            raise BadOption(f"{cls.__name__} has no class option {unknown!r}.", fix=fix) from error
        if isinstance(table, str):
            raise BadOption(
                f"{cls.__name__}: table={table!r} is not a Table.", fix='Pass a Table object: table=Table("Orders", hash="id").'
            )
        if not isinstance(schema, int) or schema < 1:
            raise BadOption(f"{cls.__name__}: schema={schema!r} is not the number of a schema.", fix="Use whole numbers from 1.")
        if case is not None:
            type.__setattr__(cls, "__wire_case__", _read_case(cls, case))
        for name, value in (("__table__", table), ("__tag__", tag), ("__schema_number__", schema)):
            type.__setattr__(cls, name, value)

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """Build and check the spec at import, unless types are not yet defined."""
        super().__pydantic_init_subclass__(**options)
        if cls.__dict__.get("__table__") is not None and cls.__pydantic_complete__:
            _ = cls.__spec__


def unknown_attributes(instance: BaseModel) -> Item:
    """The stored attributes of an instance that its class does not declare, as wire values."""
    return dict(instance.__dict__.get(UNKNOWN, {}))
