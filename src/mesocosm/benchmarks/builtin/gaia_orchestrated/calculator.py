"""A calculator that evaluates a syntax tree node by node, so that it can only compute arithmetic."""

import ast
import math
import operator
from collections.abc import Callable

from mesocosm.benchmarks.orchestrated.tool import ToolError
from mesocosm.core.source import expression_tree

MOST_CHARACTERS = 1_000
MOST_BITS = 4_096
"""Maximum size of an integer, also in intermediate results."""
Number = int | float

_BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Number]] = {
    "abs": abs,
    "min": min,
    "max": max,
    "round": round,
    "sqrt": math.sqrt,
    "floor": math.floor,
    "ceil": math.ceil,
    "sum": lambda *numbers: sum(numbers),
    "mean": lambda *numbers: sum(numbers) / len(numbers),
}


def calculate(expression: str) -> Number:
    """Return the value of an expression of numbers, + - * / // % **, parentheses and a few functions.

    Raises ToolError that says what cannot be computed.
    """
    if len(expression) > MOST_CHARACTERS:
        raise ToolError(f"the expression is longer than {MOST_CHARACTERS} characters")
    try:
        value = _value(expression_tree(expression.strip().replace("^", "**")))
        if not math.isfinite(value):
            raise ToolError("the result is not finite")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ToolError("this is not an arithmetic expression") from error
    except (ArithmeticError, ValueError, TypeError) as error:
        raise ToolError(f"this cannot be computed: {error}") from error
    return value


def _value(node: ast.expr) -> Number:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return _small(number)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left), _value(right))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _small(_BINARY[type(op)](_value(left), _value(right)))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _small(_FUNCTIONS[name](*map(_value, args)))
    known = ", ".join(_FUNCTIONS)
    raise ToolError(f"only numbers, + - * / // % ** and the functions {known} are understood")


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and exponent * max(base.bit_length(), 1) > MOST_BITS:
        raise ToolError("the result is too large")
    power: object = base**exponent
    if not isinstance(power, int | float):
        raise ToolError("the result is not a real number")
    return _small(power)


def _small(number: Number) -> Number:
    if isinstance(number, int) and number.bit_length() > MOST_BITS:
        raise ToolError("a number on the way is too large")
    return number
