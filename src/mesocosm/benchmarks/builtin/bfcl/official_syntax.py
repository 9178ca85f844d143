"""Decode the text of a prompted model into calls in Python syntax, as the leaderboard's default decoder does.

Python text is never executed. The leaderboard evaluates arithmetic in arguments; here that is done for constants and
displays of them. An expression with names or calls in arithmetic is not decoded.
"""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from mesocosm.core.source import expression_tree

LONGEST = 50_000
"""Longer text is not decoded."""

_LARGEST = 10**6
"""Bits of a number, or elements of a text or list, that arithmetic may yield."""


class NoCalls(Exception):
    """The text is not decoded."""


def decoded(text: str) -> list[tuple[str, dict[Any, Any]]]:
    """Return name and arguments of each call. Raises NoCalls for any other text."""
    text = text.strip("`\n ")
    text = f"{'' if text.startswith('[') else '['}{text}"
    text = f"{text}{'' if text.endswith(']') else ']'}"
    if len(text) > LONGEST:
        raise NoCalls
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = expression_tree(text)
        if not isinstance(tree, ast.List) or not all(isinstance(item, ast.Call) for item in tree.elts):
            raise NoCalls
        return [_call(item) for item in tree.elts if isinstance(item, ast.Call)]
    except (SyntaxError, TypeError, ValueError, AttributeError, RecursionError, MemoryError, ArithmeticError) as error:
        raise NoCalls from error


def _call(node: ast.Call) -> tuple[str, dict[Any, Any]]:
    """Return name and named arguments of a call; those without a name are ignored."""
    parts: list[str] = []
    at = node.func
    while isinstance(at, ast.Attribute):
        parts.append(at.attr)
        at = at.value
    if isinstance(at, ast.Name):
        parts.append(at.id)
    arguments = {keyword.arg: _value(keyword.value) for keyword in node.keywords}
    return ".".join(reversed(parts)), arguments


def _value(node: ast.expr | None) -> Any:
    found: Any
    match node:
        case ast.Constant(value=value):
            found = "..." if value is Ellipsis else value
        case ast.UnaryOp(operand=ast.Constant(value=value)):
            found = _negated(value)  # whatever the sign is
        case ast.List():
            found = [_value(item) for item in node.elts]
        case ast.Tuple():
            found = tuple(_value(item) for item in node.elts)
        case ast.Dict():
            found = {_value(key): _value(value) for key, value in zip(node.keys, node.values, strict=True)}
        case ast.BinOp():
            found = _evaluated(node)
        case ast.Name(id=name):
            found = name
        case ast.Call(keywords=[]):
            found = ast.unparse(node)
        case ast.Call():
            found = dict([_call(node)])
        case ast.Subscript():
            found = f"{ast.unparse(node.value)}[{ast.unparse(node.slice)}]"
        case _:
            raise NoCalls
    return found


def _negated(value: Any) -> Any:
    return -value


_BINARY: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.MatMult: operator.matmul,
}
_UNARY: Mapping[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}


def _evaluated(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.BinOp():
            left, right = _evaluated(node.left), _evaluated(node.right)
            _check_size(node.op, left, right)
            return _BINARY[type(node.op)](left, right)
        case ast.UnaryOp():
            return _UNARY[type(node.op)](_evaluated(node.operand))
        case ast.List():
            return [_evaluated(item) for item in node.elts]
        case ast.Tuple():
            return tuple(_evaluated(item) for item in node.elts)
        case ast.Set():
            return {_evaluated(item) for item in node.elts}
        case ast.Dict():
            pairs = zip(node.keys, node.values, strict=True)
            return {_evaluated(key): _evaluated(value) for key, value in pairs if key is not None}
    raise NoCalls


def _check_size(op: ast.operator, left: Any, right: Any) -> None:
    """Raise NoCalls for arithmetic whose result is too large to compute."""
    size, other = _size(left), _size(right)
    if isinstance(op, ast.Mod) and isinstance(left, str | bytes):
        raise NoCalls  # a format may ask for any width
    if isinstance(op, ast.Pow | ast.LShift):
        times = abs(right) if isinstance(right, int) else 1
        size = size * times if isinstance(op, ast.Pow) else size + times
    elif isinstance(op, ast.Mult):
        sized = isinstance(left, str | bytes | list | tuple), isinstance(right, str | bytes | list | tuple)
        size = size * abs(right) if sized[0] and isinstance(right, int) else size + other
        size = other * abs(left) if sized[1] and isinstance(left, int) else size
    if size > _LARGEST:
        raise NoCalls


def _size(value: Any) -> int:
    if isinstance(value, str | bytes | list | tuple | set | dict):
        return len(value)
    return value.bit_length() if isinstance(value, int) else 64
