"""When does a rule of the world strike? A small expression language, evaluated without `eval`.

An expression is Python syntax cut down to names, numbers, comparisons, `and` / `or` / `not` and plain arithmetic.
It has no calls, attributes, subscripts, strings or powers, so a world file from a stranger cannot run anything.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping

Value = int | float | bool

NAMES: dict[str, str] = {
    "P": "prompt tokens, as the server counts them",
    "O": "output tokens to be generated (`at = decode`: generated so far)",
    "OR": "max_tokens as asked",
    "T": "P + O",
    "C": "requests in flight in this engine, this one included",
    "N": "ordinal of this request in the engine's life, from 1",
    "CH": "prefill chunk, tokens",
    "U": "a uniform draw per request, from the world's seed",
    "AGE": "seconds since the engine started",
    "HIT": "prompt tokens found in the prefix cache",
    "K": "draft tokens per draft (0 without a drafter)",
    "SPEC": "is there a drafter?",
    "PROCESSED": "output tokens that the target processes, accepted drafts past the end included",
    "CONTENT": "share of distinct ids in the prompt (1 for text of distinct tokens)",
    "STREAM": "was a stream asked for?",
    "CHAT": "is it a chat request?",
}

MAX_LENGTH = 500
MAX_DEPTH = 40

_ARITHMETIC: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class BadRule(ValueError):
    """The expression is not in the language. The message quotes it and says what is wrong."""


class Condition:
    """A parsed expression. `names` are the variables that it reads."""

    def __init__(self, text: str) -> None:
        """Parse `text`. Raises BadRule where it is not in the language."""
        self.text = text
        if len(text) > MAX_LENGTH:
            raise BadRule(f"a rule of {len(text)} characters: at most {MAX_LENGTH} are allowed")
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise BadRule(f"rule {text!r} is not an expression: {error}") from None
        self.names = frozenset(self._check(self._tree, 0))

    def __call__(self, values: Mapping[str, Value]) -> bool:
        """Does the rule strike? A division by zero, or a number beyond any float, counts as no."""
        try:
            return bool(_evaluate(self._tree, values))
        except ArithmeticError:
            return False

    def _check(self, node: ast.expr, depth: int) -> set[str]:
        if depth > MAX_DEPTH:
            raise BadRule(f"rule {self.text!r} is nested too deep")
        match node:
            case ast.Constant(value=bool() | int() | float()):
                return set()
            case ast.Name(id=name) if name in NAMES:
                return {name}
            case ast.Name(id=name):
                raise BadRule(f"rule {self.text!r} names {name!r}; known are {', '.join(NAMES)}")
            case ast.BoolOp(values=parts):
                return self._check_all(parts, depth)
            case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=part):
                return self._check(part, depth + 1)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
                return self._check_all([left, right], depth)
            case ast.Compare(left=left, ops=ops, comparators=rest) if all(type(op) in _COMPARISONS for op in ops):
                return self._check_all([left, *rest], depth)
            case _:
                raise BadRule(f"rule {self.text!r}: {type(node).__name__} is not part of the language")

    def _check_all(self, parts: list[ast.expr], depth: int) -> set[str]:
        return set().union(*(self._check(part, depth + 1) for part in parts))


def _evaluate(node: ast.expr, values: Mapping[str, Value]) -> Value:  # noqa: PLR0911  (a case a node)
    match node:
        case ast.Constant(value=bool() | int() | float() as constant):
            return constant
        case ast.Name(id=name):
            return values[name]
        case ast.BoolOp(op=ast.And(), values=parts):
            return all(_evaluate(part, values) for part in parts)
        case ast.BoolOp(values=parts):
            return any(_evaluate(part, values) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return not _evaluate(part, values)
        case ast.UnaryOp(operand=part):
            return -_evaluate(part, values)
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_evaluate(left, values), _evaluate(right, values))
        case ast.Compare(left=left, ops=ops, comparators=rest):
            return _compare(_evaluate(left, values), ops, rest, values)
        case _:
            raise AssertionError(f"unchecked node {type(node).__name__}")


def _compare(left: Value, ops: list[ast.cmpop], rest: list[ast.expr], values: Mapping[str, Value]) -> bool:
    for op, node in zip(ops, rest, strict=True):
        right = _evaluate(node, values)
        if not _COMPARISONS[type(op)](left, right):
            return False
        left = right
    return True
