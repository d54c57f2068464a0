"""The parts of an expression, as values, and the names that they may have.

The grammars build them from text; other languages (PartiQL, the legacy parameters) may build them directly. A path from text may
hold an `Alias` where the text has a `#name`; every compiler takes the mapping that resolves them. `InvalidExpression` is an error in an
expression, before the name of the parameter is prepended.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateleg.engine.errors import validation
from gateleg.engine.values import text_size

Item = dict[str, Any]
#: Values by placeholder (`:v`).
Values = Mapping[str, Any]
#: Attribute names by placeholder (`#n`).
Names = Mapping[str, str]
Test = Callable[[Item, Values], bool]
#: Reads a value of an item or of the request, or None.
Getter = Callable[[Item, Values], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Alias:
    """An unresolved `#name` in a path."""

    name: str


Part = str | int | Alias


@dataclass(frozen=True, slots=True)
class Path:
    """A document path: an attribute name, then names of map members and list indexes."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A `:value` placeholder."""

    name: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A canonical attribute value, known when the expression is built."""

    value: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A function call: an operand (`size`, `if_not_exists`, `list_append`) or a condition (the others)."""

    name: str
    args: "tuple[Operand, ...]"


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """The sum (`+`) or difference (`-`) of two operands in SET."""

    operator: str
    left: "Operand"
    right: "Operand"


Operand = Path | Value | Literal | Call


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison; the operator is one of `= <> < <= > >=`."""

    operator: str
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Between:
    """`operand BETWEEN low AND high`, inclusive."""

    operand: Operand
    low: Operand
    high: Operand


@dataclass(frozen=True, slots=True)
class In:
    """`operand IN (choices)`."""

    operand: Operand
    choices: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a condition."""

    part: "Node"


@dataclass(frozen=True, slots=True)
class And:
    """The conjunction of conditions."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Or:
    """The disjunction of conditions."""

    parts: "tuple[Node, ...]"


Node = Compare | Between | In | Call | Not | And | Or


@dataclass(frozen=True, slots=True)
class Set:
    """`SET path = value`."""

    path: Path
    value: Operand | Arithmetic


@dataclass(frozen=True, slots=True)
class Remove:
    """`REMOVE path`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Add:
    """`ADD path value`: adds to a number, or members to a set."""

    path: Path
    value: Value | Literal


@dataclass(frozen=True, slots=True)
class Delete:
    """`DELETE path value`: removes members from a set."""

    path: Path
    value: Value | Literal


Action = Set | Remove | Add | Delete


class InvalidExpression(Exception):
    """An error in an expression's text, names or values; `message` follows `Invalid <Parameter>: ` in DynamoDB's message."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


#: DynamoDB's limit for a name in UTF-8.
MAX_NAME: Final = 65535


def name_fault(name: str) -> str | None:
    """Why a name is invalid, or None."""
    if not name:
        return "Empty attribute name"
    if len(name) > MAX_NAME // 4 and text_size(name) > MAX_NAME:
        return "Attribute name is too large, must be less than 65536 bytes"
    return None


def check_attribute_names(names: Iterable[str]) -> None:
    """Refuse attribute names that are empty or too long."""
    for name in names:
        fault = name_fault(name)
        if fault is not None:
            raise validation(fault)


_WORDS = """
    ABORT ABSOLUTE ACTION ADD AFTER AGENT AGGREGATE ALL ALLOCATE ALTER ANALYZE AND ANY ARCHIVE ARE ARRAY AS ASC ASCII ASENSITIVE
    ASSERTION ASYMMETRIC AT ATOMIC ATTACH ATTRIBUTE AUTH AUTHORIZATION AUTHORIZE AUTO AVG BACK BACKUP BASE BATCH BEFORE BEGIN
    BETWEEN BIGINT BINARY BIT BLOB BLOCK BOOLEAN BOTH BREADTH BUCKET BULK BY BYTE CALL CALLED CALLING CAPACITY CASCADE CASCADED
    CASE CAST CATALOG CHAR CHARACTER CHECK CLASS CLOB CLOSE CLUSTER CLUSTERED CLUSTERING CLUSTERS COALESCE COLLATE COLLATION
    COLLECTION COLUMN COLUMNS COMBINE COMMENT COMMIT COMPACT COMPILE COMPRESS CONDITION CONFLICT CONNECT CONNECTION CONSISTENCY
    CONSISTENT CONSTRAINT CONSTRAINTS CONSTRUCTOR CONSUMED CONTINUE CONVERT COPY CORRESPONDING COUNT COUNTER CREATE CROSS CUBE
    CURRENT CURSOR CYCLE DATA DATABASE DATE DATETIME DAY DEALLOCATE DEC DECIMAL DECLARE DEFAULT DEFERRABLE DEFERRED DEFINE DEFINED
    DEFINITION DELETE DELIMITED DEPTH DEREF DESC DESCRIBE DESCRIPTOR DETACH DETERMINISTIC DIAGNOSTICS DIRECTORIES DISABLE
    DISCONNECT DISTINCT DISTRIBUTE DO DOMAIN DOUBLE DROP DUMP DURATION DYNAMIC EACH ELEMENT ELSE ELSEIF EMPTY ENABLE END EQUAL
    EQUALS ERROR ESCAPE ESCAPED EVAL EVALUATE EXCEEDED EXCEPT EXCEPTION EXCEPTIONS EXCLUSIVE EXEC EXECUTE EXISTS EXIT EXPLAIN
    EXPLODE EXPORT EXPRESSION EXTENDED EXTERNAL EXTRACT FAIL FALSE FAMILY FETCH FIELDS FILE FILTER FILTERING FINAL FINISH FIRST
    FIXED FLATTERN FLOAT FOR FORCE FOREIGN FORMAT FORWARD FOUND FREE FROM FULL FUNCTION FUNCTIONS GENERAL GENERATE GET GLOB GLOBAL
    GO GOTO GRANT GREATER GROUP GROUPING HANDLER HASH HAVE HAVING HEAP HIDDEN HOLD HOUR IDENTIFIED IDENTITY IF IGNORE IMMEDIATE
    IMPORT IN INCLUDING INCLUSIVE INCREMENT INCREMENTAL INDEX INDEXED INDEXES INDICATOR INFINITE INITIALLY INLINE INNER INNTER
    INOUT INPUT INSENSITIVE INSERT INSTEAD INT INTEGER INTERSECT INTERVAL INTO INVALIDATE IS ISOLATION ITEM ITEMS ITERATE JOIN KEY
    KEYS LAG LANGUAGE LARGE LAST LATERAL LEAD LEADING LEAVE LEFT LENGTH LESS LEVEL LIKE LIMIT LIMITED LINES LIST LOAD LOCAL
    LOCALTIME LOCALTIMESTAMP LOCATION LOCATOR LOCK LOCKS LOG LOGED LONG LOOP LOWER MAP MATCH MATERIALIZED MAX MAXLEN MEMBER MERGE
    METHOD METRICS MIN MINUS MINUTE MISSING MOD MODE MODIFIES MODIFY MODULE MONTH MULTI MULTISET NAME NAMES NATIONAL NATURAL NCHAR
    NCLOB NEW NEXT NO NONE NOT NULL NULLIF NUMBER NUMERIC OBJECT OF OFFLINE OFFSET OLD ON ONLINE ONLY OPAQUE OPEN OPERATOR OPTION
    OR ORDER ORDINALITY OTHER OTHERS OUT OUTER OUTPUT OVER OVERLAPS OVERRIDE OWNER PAD PARALLEL PARAMETER PARAMETERS PARTIAL
    PARTITION PARTITIONED PARTITIONS PATH PERCENT PERCENTILE PERMISSION PERMISSIONS PIPE PIPELINED PLAN POOL POSITION PRECISION
    PREPARE PRESERVE PRIMARY PRIOR PRIVATE PRIVILEGES PROCEDURE PROCESSED PROJECT PROJECTION PROPERTY PROVISIONING PUBLIC PUT
    QUERY QUIT QUORUM RAISE RANDOM RANGE RANK RAW READ READS REAL REBUILD RECORD RECURSIVE REDUCE REF REFERENCE REFERENCES
    REFERENCING REGEXP REGION REINDEX RELATIVE RELEASE REMAINDER RENAME REPEAT REPLACE REQUEST RESET RESIGNAL RESOURCE RESPONSE
    RESTORE RESTRICT RESULT RETURN RETURNING RETURNS REVERSE REVOKE RIGHT ROLE ROLES ROLLBACK ROLLUP ROUTINE ROW ROWS RULE RULES
    SAMPLE SATISFIES SAVE SAVEPOINT SCAN SCHEMA SCOPE SCROLL SEARCH SECOND SECTION SEGMENT SEGMENTS SELECT SELF SEMI SENSITIVE
    SEPARATE SEQUENCE SERIALIZABLE SESSION SET SETS SHARD SHARE SHARED SHORT SHOW SIGNAL SIMILAR SIZE SKEWED SMALLINT SNAPSHOT
    SOME SOURCE SPACE SPACES SPARSE SPECIFIC SPECIFICTYPE SPLIT SQL SQLCODE SQLERROR SQLEXCEPTION SQLSTATE SQLWARNING START STATE
    STATIC STATUS STORAGE STORE STORED STREAM STRING STRUCT STYLE SUB SUBMULTISET SUBPARTITION SUBSTRING SUBTYPE SUM SUPER
    SYMMETRIC SYNONYM SYSTEM TABLE TABLESAMPLE TEMP TEMPORARY TERMINATED TEXT THAN THEN THROUGHPUT TIME TIMESTAMP TIMEZONE TINYINT
    TO TOKEN TOTAL TOUCH TRAILING TRANSACTION TRANSFORM TRANSLATE TRANSLATION TREAT TRIGGER TRIM TRUE TRUNCATE TTL TUPLE TYPE
    UNDER UNDO UNION UNIQUE UNIT UNKNOWN UNLOGGED UNNEST UNPROCESSED UNSIGNED UNTIL UPDATE UPPER URL USAGE USE USER USERS USING
    UUID VACUUM VALUE VALUED VALUES VARCHAR VARIABLE VARIANCE VARINT VARYING VIEW VIEWS VIRTUAL VOID WAIT WHEN WHENEVER WHERE
    WHILE WINDOW WITH WITHIN WITHOUT WORK WRAPPED WRITE YEAR ZONE
"""

RESERVED: Final = frozenset(_WORDS.split())


def is_reserved(name: str) -> bool:
    """Whether a name is reserved, ignoring case."""
    return name.upper() in RESERVED
