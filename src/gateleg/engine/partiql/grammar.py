"""The grammar of PartiQL expressions: operator precedence, with three calls per level of brackets."""

from collections.abc import Callable
from typing import Final, TypeVar

from gateleg.engine.partiql.errors import TextRange, malformed
from gateleg.engine.partiql.keywords import FUNCTION_WORDS, OPERATOR_WORDS, type_name
from gateleg.engine.partiql.tokens import END, KEYWORD, NAME, NUMBER, PARAMETER, QUOTED, STRING, SYMBOL, Token, tokenize
from gateleg.engine.partiql.trees import (
    CollectionLiteral,
    Constant,
    DocumentPath,
    FunctionCall,
    Name,
    OperatorExpression,
    Parameter,
    Statement,
    Struct,
    Tree,
    TypeTest,
)

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

_T = TypeVar("_T")
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
        found = [item()]
        while self.skip(","):
            found.append(item())
        return found

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
        found = [self.expression()]
        while self.skip(","):
            found.append(self.expression())
        self.expect(closing, named)
        return tuple(found)

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
