"""Parse calls in Python syntax, such as `[f(a=1), g.h(b="x")]`, from the syntax tree without executing them."""

import ast
import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from mesocosm.core.source import expression_tree, syntax_tree

LONGEST = 50_000
"""Maximum number of characters. No real call is this long, and deeply nested input must not cost memory."""

_DEEPEST = 64
_LARGEST = 1e300
_SIGNS: Mapping[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_SUMS: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def spelled_calls(text: str) -> list[tuple[str, Any]]:
    """Return name and arguments of each call, if the whole text consists of calls; otherwise an empty list.

    Calls stand in a list, of which either bracket may be left out, or each is a statement, possibly inside `print`. A
    positional argument is named by its index, which matches no parameter. A bare name is returned as text, like any
    other expression without a value. The arguments are None if they cannot be read.
    """
    if "(" not in text or len(text) > LONGEST:
        return []
    try:
        return [_call(node) for node in _listed(text)]
    except (SyntaxError, TypeError, ValueError, RecursionError, MemoryError):
        return []


def _listed(text: str) -> list[ast.expr]:
    """Return the expressions of a list or of statements. Raises SyntaxError, TypeError for other code."""
    inner = f"{'' if text.startswith('[') else '['}{text}{'' if text.endswith(']') else ']'}"
    with warnings.catch_warnings(action="ignore"):
        try:
            tree = expression_tree(inner)
            return tree.elts if isinstance(tree, ast.List) else []
        except SyntaxError:
            statements = syntax_tree(text).body
    if not all(isinstance(one, ast.Expr) for one in statements):
        raise TypeError("a statement that is no call")
    return [one.value for one in statements if isinstance(one, ast.Expr)]


def _call(node: ast.expr) -> tuple[str, Any]:
    """Return a call. Raises TypeError or ValueError for anything else."""
    if not isinstance(node, ast.Call):
        raise TypeError("no call")
    if isinstance(node.func, ast.Name) and node.func.id == "print" and not node.keywords and len(node.args) == 1:
        return _call(node.args[0])
    name = _name(node.func)
    try:
        return name, _arguments(node)
    except (TypeError, ValueError, RecursionError, ArithmeticError):
        return name, None


def _arguments(node: ast.Call) -> dict[str, Any]:
    arguments: dict[str, Any] = {str(place): _value(value, 0) for place, value in enumerate(node.args)}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise ValueError("arguments out of a mapping")
        arguments[keyword.arg] = _value(keyword.value, 0)
    return arguments


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{_name(node.value)}.{node.attr}"
    raise ValueError("no name")


def _value(node: ast.expr, depth: int) -> Any:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    match node:
        case ast.Constant():
            return _constant(node)
        case ast.List():
            return [_value(item, depth + 1) for item in node.elts]
        case ast.Tuple():
            return tuple(_value(item, depth + 1) for item in node.elts)
        case ast.Dict():
            return _mapping(node, depth)
        case ast.UnaryOp():
            sign = _SIGNS.get(type(node.op))
            if sign is not None:
                return sign(_number(node.operand, depth))
        case ast.BinOp():
            sum_of = _SUMS.get(type(node.op))
            if sum_of is not None:
                return sum_of(_number(node.left, depth), _number(node.right, depth))
    return ast.unparse(node)


def _mapping(node: ast.Dict, depth: int) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if not isinstance(key, ast.Constant):
            raise TypeError("a key that is not a constant")
        found[_constant(key)] = _value(value, depth + 1)
    return found


def _constant(node: ast.Constant) -> Any:
    """Return a constant. Raises ValueError for an integer that is too large to print."""
    if isinstance(node.value, int) and abs(node.value) >= _LARGEST:
        raise ValueError("too large a number")
    return node.value


def _number(node: ast.expr, depth: int) -> int | float:
    value = _value(node, depth + 1)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGEST:
        raise ValueError("no number")
    return value
