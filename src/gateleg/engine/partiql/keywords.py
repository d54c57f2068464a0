"""PartiQL's keywords, which are not attribute or table names unless quoted."""

from typing import Final

_WORDS: Final = """
    absolute action add all allocate alter and any are as asc assertion at authorization avg bag begin between bigint bit bit_length
    blob bool boolean by can_cast can_lossless_cast cascade cascaded case cast catalog char char_length character character_length
    check clob close coalesce collate collation column commit conflict connect connection constraint constraints continue convert
    corresponding count create cross current current_date current_time current_timestamp current_user cursor date date_add date_diff
    deallocate dec decimal declare default deferrable deferred delete desc describe descriptor diagnostics disconnect distinct do
    domain double drop else end escape except exception exec execute exists external extract false fetch first float for foreign
    found from full get global go goto grant group having identity immediate in index indicator initially inner input insensitive
    insert int int2 int4 int8 integer integer2 integer4 integer8 intersect interval into is isolation join key language last left
    let level like limit list local lower match max min missing modified module names national natural nchar new next no not nothing
    null nullif numeric octet_length of offset old on only open option or order outer output overlaps pad partial pivot position
    precision prepare preserve primary prior privileges procedure public read real references relative remove restrict returning
    revoke right rollback rows schema scroll section select session session_user set sexp size smallint some space sql sqlcode
    sqlerror sqlstate string struct substring sum symbol system_user table temporary then time timestamp to transaction translate
    translation trim true tuple union unique unknown unpivot update upper usage user using value values varchar varying view when
    whenever where with work write zone
"""

KEYWORDS: Final = frozenset(_WORDS.split())

#: Keywords that are operators; at the start of a term they are reported as unexpected operators.
OPERATOR_WORDS: Final = frozenset({"and", "or", "not", "is", "in", "between", "like", "union", "intersect", "except"})

#: Keywords that are functions if a parenthesis follows.
FUNCTION_WORDS: Final = frozenset(
    {"exists", "count", "avg", "max", "min", "sum", "substring", "char_length", "character_length", "octet_length", "bit_length"}
    | {"upper", "lower", "size", "sexp", "list", "bag"}
)

_ALIASES: Final = {
    "varchar": "character_varying",
    "char": "character",
    "dec": "decimal",
    "int": "integer",
    "int2": "smallint",
    "integer2": "smallint",
    "int4": "integer4",
    "int8": "integer8",
    "bigint": "integer8",
    "bool": "boolean",
}
_TYPES: Final = frozenset(
    {"missing", "null", "boolean", "smallint", "integer4", "integer8", "integer", "float", "real", "decimal", "numeric", "timestamp"}
    | {"date", "time", "character", "string", "symbol", "clob", "blob", "struct", "tuple", "list", "sexp", "bag", "any"}
)


def type_name(word: str) -> str | None:
    """The type that a keyword names after IS, or None."""
    name = _ALIASES.get(word, word)
    return name if name in _TYPES or word in _ALIASES else None
