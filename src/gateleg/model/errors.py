"""Errors of declarations, keys, expressions and items.

Each class has a stable `code` and a `fix`, which says what to do. A raised error may override `fix` with a more specific one.
"""

from collections.abc import Sequence
from typing import Any

from gateleg.errors import GatelegError


class ModelError(GatelegError):
    """The base class of all errors of `gateleg.model`."""

    fix = "Correct the declaration, value or expression that the message names."
    status = 422


class DeclarationError(ModelError):
    """A table, entity, key or pattern that cannot work as declared. Raised at import."""

    status = 500
    fix = "Correct the declaration that the message names; it is checked when the module is imported."


class TemplateError(DeclarationError):
    """A key template that cannot be read, built or parsed back."""

    fix = "Write literals and placeholders like PROJECT#{project_id}; a placeholder may have a format, as in {sequence:03d}."


class UnknownComponent(DeclarationError):
    """A template names an attribute that the entity does not have."""

    fix = "Name an attribute of the entity in the template, or declare the attribute."


class OptionalComponent(DeclarationError):
    """A component of a primary key may be absent."""

    fix = "Make the attribute required, or give it a default other than None: a primary key must be complete."


class NumberWithoutWidth(DeclarationError):
    """A number inside the text of a sort key has no width, so 10 would sort before 9."""

    fix = "Give it a width, as in {sequence:03d}."


class NegativeInKey(DeclarationError):
    """A zero-padded number in a key may be negative, which text cannot order."""

    fix = "Constrain the attribute with ge=0, or store the number in a separate key attribute."


class FloatInKey(DeclarationError):
    """A float or Decimal inside the text of a key has no fixed format."""

    fix = "Give it a width and a number of decimal places, as in {price:012.2f}."


class StateInKey(DeclarationError):
    """An attribute that changes by transition is part of a primary key, which can never change."""

    fix = "Use identifying attributes in the primary key, and put the state in the key of an index."


class OverlappingKeys(DeclarationError):
    """Two entities of one table could write the same key, or one's query would find the other's items."""

    fix = "Begin the sort key of each entity with a different prefix that ends in a delimiter, such as SCENE# and TAKE#."


class IndexMismatch(DeclarationError):
    """An index is declared twice with different attributes, or a key attribute has two types."""

    fix = "Use one declaration of the index, and one type for each key attribute."


class TooManyIndexes(DeclarationError):
    """More indexes than DynamoDB allows: 5 local, 20 global by default quota."""

    fix = "Let entities share an index through key templates."


class UnknownIndex(DeclarationError):
    """A key or an access pattern names an index that the table does not have."""

    fix = "Name an index that the table declares, or add it to the table's indexes."


class BadKeyOption(DeclarationError):
    """A key has an option that has no effect: `when` or `shards` of a primary key, `legacy` of an index, and the like."""

    fix = "Remove the option from the key, or move it to the kind of key that supports it."


class BadWhen(DeclarationError):
    """`when` of a key or counter names an unknown attribute, or a value that the attribute can never have."""

    fix = "Use an attribute of the entity, and values of its type."


class BadOption(DeclarationError, TypeError):
    """A declaration has an unknown option, or an option has an invalid value."""

    fix = "Remove the option or correct its value; the reference of gateleg.model lists the options."


class BadName(DeclarationError):
    """A table or index has a name that DynamoDB does not accept."""

    fix = "Use 3 to 255 characters: letters, digits, _, - and . only."


class MissingKey(DeclarationError):
    """An entity has a table but no key."""

    fix = 'Declare the primary key, such as key = Key("{order_id}").'


class UnservedPattern(DeclarationError):
    """Neither the table's key nor the key of an index can serve the access pattern."""

    fix = "Name the index that serves the pattern, or declare an index or key that begins with its arguments."


class WireNameClash(DeclarationError):
    """Two attributes or keys of an entity have the same name on the wire."""

    fix = "Give the attribute another wire name with name=."


class DuplicateMark(DeclarationError):
    """An entity has two versions or two TTL attributes."""

    fix = "Keep one: an item has one version, and a table one TTL attribute."


class BadMark(DeclarationError):
    """A special attribute has the wrong type or default."""

    fix = "Declare the attribute with the type and default that the message names."


class UnsupportedType(DeclarationError):
    """A type that cannot be stored in DynamoDB."""

    fix = "Use text, numbers, booleans, bytes, times, UUIDs, enumerations, or lists, dictionaries, sets and Records of them."


class BadStates(DeclarationError):
    """A state machine with an undeclared, unknown or unreachable state."""

    fix = "Declare every state that a transition names, and transitions that lead to each state."


class NotAnEntity(ModelError, TypeError):
    """A class or value that is not an entity was passed where one is required."""

    status = 500
    fix = "Pass a subclass of Entity with a table, or an instance of one."


class KeyValueError(ModelError, ValueError):
    """A value does not fit a key template."""

    fix = "Pass a value of the attribute's type that fits the key's template."


class DelimiterInValue(KeyValueError):
    """A value contains the delimiter of its key template, so two keys could collide."""

    fix = "Use a value without the delimiter, or another delimiter in the template."


class KeyRangeError(KeyValueError):
    """A number does not fit the width of its key template."""

    fix = "Widen the format in the template (and move existing items), or reject the value earlier."


class EmptyKey(KeyValueError):
    """A key or a part of one is empty."""

    fix = "Use a value that is not empty; set the attribute to None to keep the item out of an index."


class WrongCompletion(ModelError, TypeError):
    """A route completed an `InputModel` with too few attributes, or with unknown ones. No client can cause this."""

    status = 500
    fix = "Pass the attributes that the client does not send to .entity(...)."


class MissingComponent(KeyValueError):
    """A key cannot be built because attributes of its template were not passed. `missing` lists them."""

    fix = "Pass the components that the message names, by name or as conditions such as Job.job_id == value."

    def __init__(self, message: str, *, fix: str | None = None, entity: str = "", missing: Sequence[str] = ()) -> None:
        self.entity = entity
        self.missing = tuple(missing)
        super().__init__(message, fix=fix)


class UnknownArgument(KeyValueError):
    """An argument is not a component of the key or access pattern."""

    fix = "Pass only components of the key or arguments of the access pattern."


class KeyMismatch(KeyValueError):
    """The text of a key does not match its template."""

    fix = "Check which entity wrote the item; declare older forms of the key with legacy=."


class NumberRefused(ModelError, ValueError):
    """DynamoDB cannot store the number: it is not finite, too large, too small, or has more than 38 digits."""

    fix = "Use numbers of up to 38 significant digits, between 1E-130 and 1E+126 in magnitude."


class EmptySet(ModelError, ValueError):
    """DynamoDB cannot store an empty set."""

    fix = "Use None, or declare the attribute with an empty set as its default: an empty set is then stored as a missing attribute."


class NaiveTime(ModelError, ValueError):
    """A datetime has no time zone."""

    fix = "Use aware datetimes, such as datetime.now(UTC)."


class S3KeyRefused(ModelError, ValueError):
    """The value is not a valid object key."""

    fix = "Store the object key only, such as films/1/final.mp4, and generate a URL when you serve it."


class EncodeError(ModelError):
    """An instance cannot be encoded as an item."""

    fix = "Build instances with their constructor, which validates."


class DecodeError(ModelError):
    """An item is not valid for its entity. `problems` has one line per attribute, `ref` is the item's reference."""

    #: a client cannot repair an invalid item
    status = 500
    fix = (
        "Repair the item with patch or delete (this error's `ref` is its reference) or in the console; "
        "or widen the attribute's type, or convert old items with an upcaster."
    )

    def __init__(self, message: str, *, fix: str | None = None, problems: Sequence[str] = (), ref: Any = None) -> None:
        self.problems = tuple(problems)
        self.ref = ref
        super().__init__(message, fix=fix)


class WrongEntity(DecodeError):
    """An item belongs to another entity of the table."""

    fix = "Decode it with the entity that its tag names."


class MissingUpcaster(DecodeError):
    """An item has an older schema, and an upcaster is missing."""

    fix = "Declare an upcaster from the item's schema to the next one, or migrate the stored items."


class LookupNeeded(DecodeError):
    """An item has an older schema, and its upcaster needs another item, which only a store can read."""

    fix = "Read the item through a store, which also reads the items that upcasters need."


class ExpressionError(ModelError):
    """A condition or update action is not valid."""

    fix = "Correct the condition or action that the message names."


class ForeignAttribute(ExpressionError):
    """A condition is not one, or is about another entity than the verb. No client can cause this."""

    status = 500
    fix = "Compare attributes of the entity that the verb reads or writes."


class EmptyUpdate(ExpressionError):
    """An update changes nothing."""

    fix = "Pass at least one action, such as Job.priority.set(1)."


class ExpressionValue(ExpressionError, ValueError):
    """A value is not valid for the attribute that it is compared with or written to."""

    fix = "Use a value of the attribute's type."


class ConditionTruth(ExpressionError, TypeError):
    """A condition was used as a Python truth value."""

    status = 500
    fix = (
        "The database evaluates conditions. Combine them with &, | and ~ instead of and, or and not; "
        "in Python, compare attributes of instances, not of classes."
    )


class OverlappingPaths(ExpressionError):
    """An update writes the same path twice, or a path and a part of it."""

    fix = "Write each attribute once per update."


class ImmutableKey(ExpressionError):
    """An update writes a component of the primary key."""

    fix = "A primary key cannot change: write a new item and delete the old one in a transaction."


class ReadOnlyAttribute(ExpressionError):
    """An update writes an attribute that can only be set at creation, or that the model maintains."""

    code = "read-only"
    fix = "Remove it from the update."


class StateNeedsTransition(ExpressionError):
    """A state attribute was set without a transition."""

    fix = "Use .to(STATE), which checks the transition in the database, or .force(STATE) for a manual repair."


class DerivedKeyUnknown(ExpressionError):
    """An update changes a component of an index key, but the other components are unknown."""

    fix = "Read the item and pass the instance, or pass the missing attributes with known=."
    #: a mistake in the program, not in a client's request
    status = 500


class QueryError(ModelError, ValueError):
    """The index of the access pattern cannot serve the query."""

    fix = "Change the query so that its index can serve it, or declare an access pattern that does."


class NotAQuery(QueryError, TypeError):
    """An argument is neither an access pattern nor a query."""

    status = 500
    fix = "Pass an access pattern and its arguments, as in query(Order.of_customer, customer=...), or a query built from a pattern."


class NotAKeyCondition(QueryError):
    """A condition in `where` does not restrict the sort key."""

    fix = "Use .filter(...) for conditions on other attributes; items that the filter drops still consume read units."


class KeyInFilter(QueryError):
    """A filter uses a key attribute of the queried index, which DynamoDB refuses."""

    fix = "Restrict keys with the arguments of the access pattern or .where(...)."


class ConsistentOnGlobal(QueryError):
    """A consistent read was requested from a global secondary index, which does not support them."""

    fix = "Read the table or a local index consistently, or accept that a global index is eventually consistent."
