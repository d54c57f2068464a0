"""PartiQL's tokens, keywords, syntax tree, and the grammar of its expressions.

Each node of the tree has the text range of its token. Operator precedence needs three calls per level of brackets.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from gateleg.engine.errors import EngineError, validation

_T = TypeVar("_T")

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


#: Start and end offset of a part of a statement.
TextRange = tuple[int, int]


class StatementError(Exception):
    """An error in a statement: DynamoDB's message, and the part it refers to, if any."""

    def __init__(self, message: str, text_range: TextRange | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.text_range = text_range

    def error(self, text: str) -> EngineError:
        """The error for the response, with the position as line, column and length."""
        if self.text_range is None:
            return validation(self.message)
        start, end = self.text_range
        line = text.count("\n", 0, start) + 1
        column = start - (text.rfind("\n", 0, start) + 1) + 1
        return validation(f"{self.message} at {line}:{column}:{end - start}")


def malformed(detail: str = "") -> StatementError:
    """A syntax error. DynamoDB gives no detail if a token cannot be read."""
    return StatementError(f"Statement wasn't well formed, can't be processed: {detail}")


NAME: Final = "name"
QUOTED: Final = "quoted"
KEYWORD: Final = "keyword"
STRING: Final = "string"
NUMBER: Final = "number"
PARAMETER: Final = "parameter"
SYMBOL: Final = "symbol"
END: Final = "end"

#: Whitespace and both kinds of comments separate tokens.
_TOKEN = re.compile(
    r"(?:[ \t\r\n\f\v\xa0]|--[^\r\n]*|/\*.*?\*/)++"
    r"|(?P<name>[A-Za-z_$][A-Za-z0-9_$]*)"
    r'|(?P<quoted>"(?:[^"]|"")*")'
    r"|(?P<string>'(?:[^']|'')*')"
    r"|(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![A-Za-z0-9_$.]))"
    r"|(?P<parameter>\?)"
    r"|(?P<wrong>/\*|[0-9])"
    r"|(?P<symbol><<|>>|<>|<=|>=|!=|\|\||[=<>()\[\]{},:;.*+/%-])",
    re.DOTALL,
)

_INTEGER_MAX = 2**31 - 1
_INTEGER_MIN = -(2**31)


class Token(NamedTuple):
    """A token: kind, text (keywords in lower case, quoted text without quotes), and position."""

    kind: str
    text: str
    text_range: TextRange


def tokenize(text: str) -> list[Token]:
    """The tokens of a statement, and a final END token."""
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup == "wrong":
            raise malformed()
        position = match.end()
        if match.lastgroup is not None:
            tokens.append(_token(match.lastgroup, match.group(), (match.start(), position)))
    tokens.append(Token(END, "", (len(text), len(text))))
    return tokens


def _token(kind: str, word: str, text_range: TextRange) -> Token:
    if kind == NAME:
        lower = word.lower()
        return Token(KEYWORD, lower, text_range) if lower in KEYWORDS else Token(NAME, word, text_range)
    if kind == QUOTED:
        return Token(QUOTED, word[1:-1].replace('""', '"'), text_range)
    if kind == STRING:
        return Token(STRING, word[1:-1].replace("''", "'"), text_range)
    if kind == NUMBER:
        _check_scale(word)
    elif word == "!=":
        return Token(SYMBOL, "<>", text_range)
    return Token(kind, word, text_range)


def _check_scale(word: str) -> None:
    """Refuse a number that Java cannot parse as a decimal, because its exponent or scale exceeds 32 bits."""
    mantissa, mark, exponent = word.lower().partition("e")
    if not mark:
        return
    if len(exponent) > 12:
        raise malformed()
    power = int(exponent)
    scale = len(mantissa.partition(".")[2]) - power
    if not (_INTEGER_MIN <= power <= _INTEGER_MAX and _INTEGER_MIN <= scale <= _INTEGER_MAX):
        raise malformed()


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier."""

    name: str
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class DocumentPath:
    """A path: a name, then member names and index expressions; None is a wildcard."""

    root: "Tree"
    steps: "tuple[str | Tree | None, ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class Constant:
    """A string (`S`), number (`N`), boolean (`BOOL`), `NULL` or `MISSING`; numbers are kept as written."""

    kind: str
    text: str
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class Parameter:
    """The `?` at this position, from 0."""

    position: int
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class CollectionLiteral:
    """A list (`[...]`, or several items in parentheses) or a bag (`<<...>>`)."""

    kind: str
    members: "tuple[Tree, ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class Struct:
    """`{'name': value, ...}`."""

    members: "tuple[tuple[Tree, Tree], ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function call, with the name in lower case; `*` and a SELECT may be arguments."""

    name: str
    arguments: "tuple[Tree | Statement | None, ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class OperatorExpression:
    """An operator in lower case (`and`, `=`, `between`, `+`, ...) and its operands."""

    operator: str
    operands: "tuple[Tree, ...]"
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class TypeTest:
    """`operand IS type`."""

    operand: "Tree"
    type: str
    text_range: TextRange


Tree = Name | DocumentPath | Constant | Parameter | CollectionLiteral | Struct | FunctionCall | OperatorExpression | TypeTest


@dataclass(frozen=True, slots=True)
class OrderTerm:
    """One term of ORDER BY."""

    key: Tree
    ascending: bool


@dataclass(frozen=True, slots=True)
class SelectStatement:
    """`SELECT columns FROM source ...`; no columns means `*`. `unsupported` is the first clause that DynamoDB does not support."""

    columns: tuple[Tree, ...]
    source: Tree
    where: Tree | None
    order: tuple[OrderTerm, ...]
    aliased: bool
    unsupported: tuple[str, TextRange] | None
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class InsertStatement:
    """`INSERT INTO target VALUE item`."""

    target: Tree
    item: Tree
    returning: str | None
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class Assign:
    """`SET path = value`."""

    path: Tree
    value: Tree


@dataclass(frozen=True, slots=True)
class Drop:
    """`REMOVE path`."""

    path: Tree


@dataclass(frozen=True, slots=True)
class UpdateStatement:
    """`UPDATE target SET ... REMOVE ... WHERE ...`, or `FROM target WHERE ... SET ...`."""

    target: Tree
    actions: tuple[Assign | Drop, ...]
    where: Tree | None
    returning: str | None
    aliased: bool
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class DeleteStatement:
    """`DELETE FROM target WHERE ...`."""

    target: Tree
    where: Tree | None
    returning: str | None
    aliased: bool
    text_range: TextRange


@dataclass(frozen=True, slots=True)
class ExpressionStatement:
    """An expression as a statement; `EXISTS(SELECT ...)` is the only valid one."""

    tree: Tree


Statement = SelectStatement | InsertStatement | UpdateStatement | DeleteStatement | ExpressionStatement
#: Limits for nested expressions and for the height of trees, well below Python's recursion limit.
MAX_DEPTH: Final = 180
MAX_HEIGHT: Final = 100

_NOT: Final = 30
_PRECEDENCE: Final = {
    **dict.fromkeys(("union", "intersect", "except"), 5),
    "or": 10,
    "and": 20,
    **dict.fromkeys(("=", "<>", "is", "in", "not in"), 40),
    **dict.fromkeys(("<", "<=", ">", ">=", "between", "not between", "like", "not like"), 50),
    **dict.fromkeys(("+", "-", "||"), 60),
    **dict.fromkeys(("*", "/", "%"), 70),
}
_SIGNS: Final = frozenset({"+", "-"})
_OPERATORS: Final = frozenset({"=", "<>", "<", "<=", ">", ">=", "+", "-", "/", "%", "||"})
_CLOSING: Final = {
    "(": (")", "RIGHT_PAREN"),
    "[": ("]", "RIGHT_BRACKET"),
    "{": ("}", "RIGHT_CURLY"),
    "<<": (">>", "RIGHT_DOUBLE_ANGLE_BRACKET"),
}

_Tree = TypeVar("_Tree", DocumentPath, CollectionLiteral, Struct, FunctionCall, OperatorExpression, TypeTest)


class Expressions:
    """A position in the tokens of a statement, and the parser of the expressions there."""

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)
        self.index = 0
        self.parameters = 0
        self._depth = 0
        #: Height of each tree with parts. A long chain of operators is deep even without brackets.
        self._heights: dict[int, int] = {}

    @property
    def next(self) -> Token:
        """The next token, without consuming it."""
        return self.tokens[self.index]

    def take(self) -> Token:
        """Consume the next token; END is never consumed."""
        token = self.tokens[self.index]
        if token.kind != END:
            self.index += 1
        return token

    def at(self, text: str, ahead: int = 0) -> bool:
        """Whether the token at this distance is this symbol or keyword."""
        token = self.tokens[min(self.index + ahead, len(self.tokens) - 1)]
        return token.text == text and token.kind in (SYMBOL, KEYWORD)

    def skip(self, text: str) -> bool:
        """Consume the next token if it is this symbol or keyword."""
        if self.at(text):
            self.index += 1
            return True
        return False

    def expect(self, text: str, named: str) -> None:
        """Consume this symbol or keyword, which must be next."""
        if not self.skip(text):
            raise malformed(f"Expected {named}")

    def listed(self, item: Callable[[], _T]) -> list[_T]:
        """Parse one or more items separated by commas."""
        items = [item()]
        while self.skip(","):
            items.append(item())
        return items

    def statement(self) -> Statement:
        """Parse the statement at this position; implemented by the grammar of statements."""
        raise NotImplementedError

    def expression(self, above: int = -1) -> Tree:
        """Parse the expression at this position, up to an operator that binds no tighter than `above`."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise malformed()
        tree = self._operand()
        while True:
            operator, words = self._infix()
            if operator is None or _PRECEDENCE[operator] <= above:
                break
            text_range = self.next.text_range
            self.index += words
            tree = self._joined(operator, tree, text_range)
        self._depth -= 1
        return tree

    def _checked_height(self, tree: _Tree, *parts: Tree) -> _Tree:
        """A tree with these parts, unless it becomes too high."""
        height = 1 + max((self._heights.get(id(part), 0) for part in parts), default=0)
        if height > MAX_HEIGHT:
            raise malformed()
        self._heights[id(tree)] = height
        return tree

    def _infix(self) -> tuple[str | None, int]:
        """The infix operator at this position, and its number of tokens."""
        token = self.next
        if token.kind not in (SYMBOL, KEYWORD):
            return None, 0
        if token.text == "not":
            for word in ("in", "between", "like"):
                if self.at(word, 1):
                    return f"not {word}", 2
            return None, 0
        return (token.text, 1) if token.text in _PRECEDENCE else (None, 0)

    def _joined(self, operator: str, left: Tree, text_range: TextRange) -> Tree:
        if operator == "is":
            return self._type_test(left, text_range)
        if operator.endswith("in") and self.at("(") and not self.at("select", 1):
            self.take()
            members = self._members("(")
            choices = self._checked_height(CollectionLiteral("list", members, text_range), *members)
            return self._checked_height(OperatorExpression(operator, (left, choices), text_range), left, choices)
        if self.next.kind == END:
            raise malformed("Missing right-hand side expression of infix operator")
        right = self.expression(_PRECEDENCE[operator])
        if operator in ("and", "or") and isinstance(left, OperatorExpression) and left.operator == operator:
            return self._checked_height(OperatorExpression(operator, (*left.operands, right), left.text_range), *left.operands, right)
        if not operator.endswith("between"):
            return self._checked_height(OperatorExpression(operator, (left, right), text_range), left, right)
        self.expect("and", "AND")
        if self.next.kind == END:
            raise malformed("Expected expression after AND")
        most = self.expression(_PRECEDENCE[operator])
        return self._checked_height(OperatorExpression(operator, (left, right, most), text_range), left, right, most)

    def _type_test(self, operand: Tree, text_range: TextRange) -> Tree:
        negated = self.skip("not")
        token = self.take()
        word = token.text if token.kind == KEYWORD else ""
        if (word == "double" and self.skip("precision")) or (word == "character" and self.skip("varying")):
            name: str | None = f"{word}_varying" if word == "character" else "double_precision"
        else:
            name = type_name(word)
        if name is None:
            raise malformed("Expected type name")
        if self.skip("("):
            self._members("(")
        test = self._checked_height(TypeTest(operand, name, text_range), operand)
        return self._checked_height(OperatorExpression("not", (test,), text_range), test) if negated else test

    def _operand(self) -> Tree:
        """A negation, or a term with its signs and path steps."""
        first = self.next
        if first.kind == KEYWORD and first.text == "not":
            odd = False
            while self.skip("not"):
                odd = not odd
            operand = self.expression(_NOT)
            return self._checked_height(OperatorExpression("not", (operand,), first.text_range), operand) if odd else operand
        signs: list[Token] = []
        while self.next.kind == SYMBOL and self.next.text in _SIGNS:
            signs.append(self.take())
        token = self.take()
        if token.kind == SYMBOL and token.text in _CLOSING:
            term = self._struct(token) if token.text == "{" else self._collection(token, self._members(token.text))
        elif token.kind in (NAME, QUOTED, KEYWORD) and self.at("("):
            term = self._call(token)
        else:
            term = self._atom(token)
        if self.at(".") or self.at("["):
            term = self._steps(term, simple=False)
        return self._signed(signs, term) if signs else term

    def _signed(self, signs: list[Token], term: Tree) -> Tree:
        """A number absorbs its signs; other terms keep them."""
        if isinstance(term, Constant) and term.kind == "N":
            negative = sum(sign.text == "-" for sign in signs) % 2 == 1
            return Constant("N", f"-{term.text}" if negative else term.text, term.text_range)
        return self._checked_height(OperatorExpression(signs[-1].text, (term,), signs[-1].text_range), term)

    def simple_path(self) -> Tree:
        """A path of names and indexes only."""
        token = self.take()
        if token.kind not in (NAME, QUOTED):
            raise malformed("Expected identifier for simple path")
        return self._steps(Name(token.text, token.text_range), simple=True)

    def _steps(self, root: Tree, *, simple: bool) -> Tree:
        steps: list[str | Tree | None] = []
        while True:
            if self.skip("."):
                steps.append(self._member_name(simple))
            elif self.skip("["):
                position = None if self.skip("*") else self.expression()
                self.expect("]", "RIGHT_BRACKET")
                if simple and not isinstance(position, Constant):
                    raise malformed("Invalid path component for simple path")
                steps.append(position)
            else:
                trees = [step for step in steps if isinstance(step, Tree)]
                return self._checked_height(DocumentPath(root, tuple(steps), root.text_range), root, *trees) if steps else root

    def _member_name(self, simple: bool) -> str | None:
        token = self.take()
        if token.kind in (NAME, QUOTED):
            return token.text
        if token.text != "*" or token.kind != SYMBOL:
            raise malformed("Invalid path dot component")
        if simple:
            raise malformed("Invalid path dot component for simple path")
        return None

    def _atom(self, token: Token) -> Tree:
        """A term of one token."""
        if token.kind in (NAME, QUOTED):
            return Name(token.text, token.text_range)
        if token.kind == STRING:
            return Constant("S", token.text, token.text_range)
        if token.kind == NUMBER:
            return Constant("N", token.text, token.text_range)
        if token.kind == PARAMETER:
            self.parameters += 1
            return Parameter(self.parameters - 1, token.text_range)
        if token.kind == KEYWORD:
            return self._keyword(token)
        raise malformed("Unexpected operator" if token.kind == SYMBOL and token.text in _OPERATORS else "Unexpected term")

    def _keyword(self, token: Token) -> Tree:
        word = token.text
        if word in ("true", "false"):
            return Constant("BOOL", word, token.text_range)
        if word in ("null", "missing"):
            return Constant(word.upper(), word, token.text_range)
        if word == "from":
            # Parsing on yields DynamoDB's message for `SLECT * FROM ...`, about the missing data manipulation.
            self.index -= 1
            self.statement()
            raise malformed("Unexpected keyword")
        raise malformed("Unexpected operator" if word in OPERATOR_WORDS else "Unexpected keyword")

    def _call(self, name: Token) -> Tree:
        """The arguments of a function: expressions, a star, or a SELECT."""
        if name.kind == KEYWORD and name.text not in FUNCTION_WORDS:
            return self._keyword(name)
        self.take()
        arguments: list[Tree | Statement | None] = []
        more = not self.at(")")
        while more:
            if self.at("select"):
                arguments.append(self.statement())
            else:
                arguments.append(None if self.skip("*") else self.expression())
            more = self.skip(",")
        self.expect(")", "RIGHT_PAREN")
        trees = [argument for argument in arguments if isinstance(argument, Tree)]
        return self._checked_height(FunctionCall(name.text.lower(), tuple(arguments), name.text_range), *trees)

    def _members(self, opening: str) -> tuple[Tree, ...]:
        """The items up to the closing bracket, separated by commas; may be empty."""
        closing, named = _CLOSING[opening]
        if self.skip(closing):
            return ()
        members = [self.expression()]
        while self.skip(","):
            members.append(self.expression())
        self.expect(closing, named)
        return tuple(members)

    def _collection(self, opening: Token, members: tuple[Tree, ...]) -> Tree:
        if opening.text != "(":
            return self._checked_height(CollectionLiteral("list" if opening.text == "[" else "bag", members, opening.text_range), *members)
        if not members:
            raise malformed("Expression group cannot be empty")
        return members[0] if len(members) == 1 else self._checked_height(CollectionLiteral("list", members, opening.text_range), *members)

    def _struct(self, opening: Token) -> Tree:
        pairs: list[tuple[Tree, Tree]] = []
        more = not self.at("}")
        while more:
            name = self.expression()
            self.expect(":", "COLON")
            pairs.append((name, self.expression()))
            more = self.skip(",")
        self.expect("}", "RIGHT_CURLY")
        return self._checked_height(Struct(tuple(pairs), opening.text_range), *(value for _, value in pairs))
