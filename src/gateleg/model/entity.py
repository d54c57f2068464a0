"""`Entity` and `Record`: pydantic models whose class attributes are expressions.

A class is built when it is declared, so that mistakes are found at import. With the class option `defer_build=True` (pydantic's, but for
this class only), its validators and its spec are built at first use, which makes importing it cheap. It is meant for libraries, whose tests
use every entity that they declare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast, dataclass_transform

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel, to_pascal

from gateleg.model.attr import Attr, attribute_of
from gateleg.model.errors import BadOption, DeclarationError
from gateleg.model.fields import required
from gateleg.model.keys import Key
from gateleg.model.patterns import Pattern
from gateleg.model.shapes import UNKNOWN
from gateleg.model.tables import Counter, Unique, building
from gateleg.model.types import did_you_mean

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass

    from gateleg.model.spec import Spec
    from gateleg.model.tables import Table
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
            attribute = attribute_of(cls, name)
            if attrs is None:
                type.__setattr__(cls, "__attrs__", attrs := {})
            attrs[name] = attribute
            return attribute

        def __setattr__(cls, name: str, value: Any) -> None:
            if "__own_spec__" in cls.__dict__ and name in cls.__dict__.get("__pydantic_fields__", ()):
                raise AttributeError(f"{cls.__name__}.{name} is an attribute of every item: set it in an instance, not in the class.")
            super().__setattr__(name, value)

    def __init__(cls, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if options.get("defer_build"):
            # Subclasses inherit the config.
            cast("type[BaseModel]", cls).model_config["defer_build"] = False

    @property
    def __spec__(cls) -> Spec[Any]:
        """The spec of an entity, built with the class, or at first use if that is deferred or its types were not yet defined."""
        spec: Spec[Any] | None = cls.__dict__.get("__own_spec__")
        return cls._build_spec() if spec is None else spec

    def _build_spec(cls) -> Spec[Any]:
        table: Table | None = cls.__dict__.get("__table__")
        if table is None:
            raise DeclarationError(f"{cls.__name__} has no table.", fix=f"Declare class {cls.__name__}(Entity, table=...).")
        # Imported here because programs import the library before they declare an entity, and some never do.
        from gateleg.model.build import build_spec

        with building:
            # Those declared earlier come first, so that the order of a table's entities does not depend on which is used first.
            _ = table.specs
            spec: Spec[Any] | None = cls.__dict__.get("__own_spec__")
            if spec is None:
                cast("type[BaseModel]", cls).model_rebuild()
                spec = build_spec(cls, table, cls.__dict__["__tag__"], cls.__dict__["__schema_number__"])
                type.__setattr__(cls, "__own_spec__", spec)
        return spec


class _Model(BaseModel, metaclass=ModelMeta, defer_build=True):
    """What records and entities have in common."""

    model_config = ConfigDict(extra="forbid", validate_assignment=True, protected_namespaces=())

    __wire_case__: ClassVar[Any]

    @classmethod
    def model_rebuild(cls, *, _parent_namespace_depth: int = 2, **options: Any) -> bool | None:
        """Build the validators of a class that is not complete yet, as pydantic does, but in one thread at a time."""
        with building:
            return super().model_rebuild(_parent_namespace_depth=_parent_namespace_depth + 1, **options)


class Record(_Model, defer_build=True):
    """A map inside an item, declared as a pydantic model.

    The class option `case="camel"` converts its attribute names on the wire. Attributes that the class does not declare are kept, and
    written back with the item.
    """

    def __init_subclass__(cls, *, case: Case | None = None, **options: Any) -> None:
        """Note the naming convention."""
        super().__init_subclass__(**options)
        if case is not None:
            type.__setattr__(cls, "__wire_case__", _read_case(cls, case))


class Entity(_Model, defer_build=True):
    """A kind of item, declared as a pydantic model: `class Job(Entity, table=jobs)`.

    Class options: `table`, the table; `tag`, the value of the table's tag attribute in items of this entity; `case`, the naming convention
    of attributes on the wire ("camel" turns project_id into projectId); `schema`, a number to increase when older items need an upcaster.
    A class without a table is a base class for entities. Mistakes in the declaration raise a `DeclarationError` at import; with
    `defer_build=True`, at the first use of the table, which makes importing the declaration cheap.

    If other programs write the table too, a class method `__read_foreign__` may convert an item (in DynamoDB's JSON) to the form that the
    model writes. It is called for items that are not in the form that the model writes, and must neither raise nor change its argument.
    """

    model_config = ConfigDict(ignored_types=(Key, Pattern, Unique, Counter, Attr))

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
        """Build and check the spec at import, unless that is deferred or types are not yet defined."""
        super().__pydantic_init_subclass__(**options)
        table: Table | None = cls.__dict__.get("__table__")
        if table is None:
            return
        # The counted attributes of a parent are known once the specs of its children are built.
        counts = any(isinstance(value, Counter) for base in cls.__mro__ for value in vars(base).values())
        if cls.__pydantic_complete__ or (counts and cls.model_config.get("defer_build")):
            _ = cls.__spec__
        else:
            table.postpone(cls)


def unknown_attributes(instance: BaseModel) -> Item:
    """The stored attributes of an instance that its class does not declare, as wire values."""
    return dict(instance.__dict__.get(UNKNOWN, {}))
