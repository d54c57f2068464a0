"""The grammar of PartiQL's expressions: operator precedence, with three calls for each level of brackets."""

from collections.abc import Callable
from typing import Final, TypeVar

from gateleg.engine.partiql.faults import Place, malformed
from gateleg.engine.partiql.keywords import FUNCTION_WORDS, OPERATOR_WORDS, type_name
from gateleg.engine.partiql.tokens import END, KEYWORD, NAME, NUMBER, PARAMETER, QUOTED, STRING, SYMBOL, Token, tokenize
from gateleg.engine.partiql.trees import (
    Application,
    Collection,
    Constant,
    Name,
    Operation,
    Parameter,
    Statement,
    Struct,
    Trail,
    Tree,
    TypeTest,
)

#: Expressions that are read inside one another, and trees inside one another. Deeper statements are refused before Python's own stack is
#: in danger.
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
_Tree = TypeVar("_Tree", Trail, Collection, Struct, Application, Operation, TypeTest)


class Expressions:
    """A position among the words of a statement, and the rules for the expressions that begin there."""

    def __init__(self, text: str) -> None:
        self.tokens = tokenize(text)
        self.index = 0
        self.parameters = 0
        self._depth = 0
        #: How many trees stand inside one another in each tree that has parts. A long chain of operators needs no brackets to be deep.
        self._heights: dict[int, int] = {}

    @property
    def next(self) -> Token:
        """The word that will be taken next."""
        return self.tokens[self.index]

    def take(self) -> Token:
        """The next word; the end is given again and again."""
        token = self.tokens[self.index]
        if token.kind != END:
            self.index += 1
        return token

    def at(self, text: str, ahead: int = 0) -> bool:
        """Whether the next word, or one after it, is this symbol or keyword."""
        token = self.tokens[min(self.index + ahead, len(self.tokens) - 1)]
        return token.text == text and token.kind in (SYMBOL, KEYWORD)

    def skip(self, text: str) -> bool:
        """Take the next word if it is this symbol or keyword."""
        if self.at(text):
            self.index += 1
            return True
        return False

    def expect(self, text: str, named: str) -> None:
        """Take this symbol or keyword, which must be next."""
        if not self.skip(text):
            raise malformed(f"Expected {named}")

    def listed(self, item: Callable[[], _T]) -> list[_T]:
        """One thing or several, with commas between."""
        found = [item()]
        while self.skip(","):
            found.append(item())
        return found

    def statement(self) -> Statement:
        """The statement that begins here; the grammar of statements knows how."""
        raise NotImplementedError

    def expression(self, above: int = -1) -> Tree:
        """The expression that begins here, up to an operator that binds no stronger than `above`."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise malformed()
        tree = self._operand()
        while True:
            operator, words = self._infix()
            if operator is None or _PRECEDENCE[operator] <= above:
                break
            place = self.next.place
            self.index += words
            tree = self._joined(operator, tree, place)
        self._depth -= 1
        return tree

    def _grown(self, tree: _Tree, *parts: Tree) -> _Tree:
        """A tree made of parts, unless there are too many inside one another."""
        height = 1 + max((self._heights.get(id(part), 0) for part in parts), default=0)
        if height > MAX_HEIGHT:
            raise malformed()
        self._heights[id(tree)] = height
        return tree

    def _infix(self) -> tuple[str | None, int]:
        """The operator that may follow an operand, and how many words it has."""
        token = self.next
        if token.kind not in (SYMBOL, KEYWORD):
            return None, 0
        if token.text == "not":
            for word in ("in", "between", "like"):
                if self.at(word, 1):
                    return f"not {word}", 2
            return None, 0
        return (token.text, 1) if token.text in _PRECEDENCE else (None, 0)

    def _joined(self, operator: str, left: Tree, place: Place) -> Tree:
        if operator == "is":
            return self._type_test(left, place)
        if operator.endswith("in") and self.at("(") and not self.at("select", 1):
            self.take()
            members = self._members("(")
            choices = self._grown(Collection("list", members, place), *members)
            return self._grown(Operation(operator, (left, choices), place), left, choices)
        if self.next.kind == END:
            raise malformed("Missing right-hand side expression of infix operator")
        right = self.expression(_PRECEDENCE[operator])
        if operator in ("and", "or") and isinstance(left, Operation) and left.operator == operator:
            return self._grown(Operation(operator, (*left.operands, right), left.place), *left.operands, right)
        if not operator.endswith("between"):
            return self._grown(Operation(operator, (left, right), place), left, right)
        self.expect("and", "AND")
        if self.next.kind == END:
            raise malformed("Expected expression after AND")
        most = self.expression(_PRECEDENCE[operator])
        return self._grown(Operation(operator, (left, right, most), place), left, right, most)

    def _type_test(self, operand: Tree, place: Place) -> Tree:
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
        test = self._grown(TypeTest(operand, name, place), operand)
        return self._grown(Operation("not", (test,), place), test) if negated else test

    def _operand(self) -> Tree:
        """A negation, or a term with its signs and the steps into it."""
        first = self.next
        if first.kind == KEYWORD and first.text == "not":
            odd = False
            while self.skip("not"):
                odd = not odd
            operand = self.expression(_NOT)
            return self._grown(Operation("not", (operand,), first.place), operand) if odd else operand
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
        """A number takes its signs in; anything else stays under them."""
        if isinstance(term, Constant) and term.kind == "N":
            negative = sum(sign.text == "-" for sign in signs) % 2 == 1
            return Constant("N", f"-{term.text}" if negative else term.text, term.place)
        return self._grown(Operation(signs[-1].text, (term,), signs[-1].place), term)

    def simple_path(self) -> Tree:
        """A path that begins with a name and has nothing but names and positions."""
        token = self.take()
        if token.kind not in (NAME, QUOTED):
            raise malformed("Expected identifier for simple path")
        return self._steps(Name(token.text, token.place), simple=True)

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
                return self._grown(Trail(root, tuple(steps), root.place), root, *trees) if steps else root

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
        """A term of one word."""
        if token.kind in (NAME, QUOTED):
            return Name(token.text, token.place)
        if token.kind == STRING:
            return Constant("S", token.text, token.place)
        if token.kind == NUMBER:
            return Constant("N", token.text, token.place)
        if token.kind == PARAMETER:
            self.parameters += 1
            return Parameter(self.parameters - 1, token.place)
        if token.kind == KEYWORD:
            return self._keyword(token)
        raise malformed("Unexpected operator" if token.kind == SYMBOL and token.text in _OPERATORS else "Unexpected term")

    def _keyword(self, token: Token) -> Tree:
        word = token.text
        if word in ("true", "false"):
            return Constant("BOOL", word, token.place)
        if word in ("null", "missing"):
            return Constant(word.upper(), word, token.place)
        if word == "from":
            # Reading on gives DynamoDB's answer to `SLECT * FROM ...`: the data manipulation that should follow is missing.
            self.index -= 1
            self.statement()
            raise malformed("Unexpected keyword")
        raise malformed("Unexpected operator" if word in OPERATOR_WORDS else "Unexpected keyword")

    def _call(self, name: Token) -> Tree:
        """A function's arguments: expressions, a star, or a SELECT."""
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
        return self._grown(Application(name.text.lower(), tuple(arguments), name.place), *trees)

    def _members(self, opening: str) -> tuple[Tree, ...]:
        """What stands between brackets, of which the first has been taken, with commas between; there may be nothing."""
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
            return self._grown(Collection("list" if opening.text == "[" else "bag", members, opening.place), *members)
        if not members:
            raise malformed("Expression group cannot be empty")
        return members[0] if len(members) == 1 else self._grown(Collection("list", members, opening.place), *members)

    def _struct(self, opening: Token) -> Tree:
        pairs: list[tuple[Tree, Tree]] = []
        more = not self.at("}")
        while more:
            name = self.expression()
            self.expect(":", "COLON")
            pairs.append((name, self.expression()))
            more = self.skip(",")
        self.expect("}", "RIGHT_CURLY")
        return self._grown(Struct(tuple(pairs), opening.place), *(value for _, value in pairs))
