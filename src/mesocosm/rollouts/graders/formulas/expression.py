"""Read one expression: numbers, names, functions and units. What would grow beyond its limits is refused."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import sympy
from sympy import Expr, Integer, Rational, Symbol, oo, pi

from mesocosm.rollouts.graders.formulas.tokens import (
    CONSTANTS,
    DENYING,
    FUNCTIONS,
    JOINING,
    LONE_UNITS,
    TRIGONOMETRIC,
    FormulaToken,
    Unreadable,
    unit_of,
)

MOST_DEPTH = 40
_MOST_BITS = 20_000
_MOST_POWER = 1000
_INVERSE = {name: getattr(sympy, f"a{name}") for name in TRIGONOMETRIC}
DEGREE, PERCENT = Symbol("°"), Symbol("%")


@dataclass(frozen=True)
class Formula:
    """An expression: its unit, the significant digits it was given to (0: exact), and whether it is a plain number."""

    value: Expr
    unit: str = ""
    digits: int = 0
    plain: bool = False
    unreduced: bool = False


_UNIT_KINDS = frozenset(("word", "^", "number", "{", "}", "/", "-", "name", "°"))


def formula(found: Sequence[FormulaToken]) -> Formula:
    """Return an expression with its unit. Raises Unreadable."""
    body, unit = _without_unit(list(found))
    parser = _Parser(body)
    value = parser.whole()
    if value.has(sympy.nan, sympy.zoo):
        raise Unreadable("it has no value")
    for sign, name in ((DEGREE, "deg"), (PERCENT, "percent")):
        if value.has(sign):
            value, unit = value / sign, unit or name
            if value.has(sign):
                raise Unreadable(f"{sign} stands where it makes no unit")
    shape = "".join(
        _COMMANDS.get(token.text) or _SHAPE.get(token.kind, "x") for token in body if token.kind not in ("{", "}")
    )
    bare = shape.rstrip("%°")
    plain = _PLAIN.fullmatch(bare) is not None
    if plain and "^" in bare:
        plain = [token.text for token in body if token.kind == "number"][-2] == "10"
    return Formula(value, unit, _significant(body) if plain else 0, plain, plain and ("/" in bare or "F" in bare))


_SHAPE = {"number": "n", "-": "-", "+": "+", "/": "/", "*": "*", "^": "^", "%": "%", "°": "°"}
_COMMANDS = {"frac": "F", "overline": "O"}
_PLAIN = re.compile(r"[-+]?(?:n|nOn|n/-?n|F-?n-?n?|nFnn?|nn/n|n\*n\^-?n)")


def _significant(body: Sequence[FormulaToken]) -> int:
    """Return the significant digits of a decimal; 0 for numbers that have no decimal point."""
    numbers = [token.text for token in body if token.kind == "number"]
    if len(numbers) not in (1, 3) or "." not in numbers[0]:
        return 0
    return len(numbers[0].replace(",", "").replace(".", "").lstrip("0"))


def _without_unit(found: list[FormulaToken]) -> tuple[list[FormulaToken], str]:
    """Return a formula without the unit in front of it or behind it."""
    unit = ""
    if (found and found[0].kind == "$") or (len(found) > 1 and found[0].kind in "-+" and found[1].kind == "$"):
        found = [token for place, token in enumerate(found) if not (place < 2 and token.kind == "$")]
        unit = "dollar"
    while found and found[-1].kind == "$":
        found, unit = found[:-1], "dollar"
    start = next((place for place, token in enumerate(found) if token.kind == "word" and place), None)
    if start is None:
        # 5 m, 8 m/s and 9 m^2, but not 5m.
        start = next((place for place, token in enumerate(found) if token.kind == "name"), 0)
        before, behind = found[:start], found[start:]
        units = (
            all(token.text in LONE_UNITS for token in behind if token.kind == "name") and before and found[start].spaced
        )
        plain = units and all(token.kind in ("number", "-", "/") for token in before)
        if not plain or any(token.kind not in ("name", "/", "^", "number", "{", "}") for token in behind):
            return found, unit
    tail = found[start:]
    words = [token.text.lower() for token in tail if token.kind in ("word", "name")]
    if any(word in DENYING or word in JOINING for word in words) or len(words) > 3:
        raise Unreadable("there are words in it")
    if any(token.kind not in _UNIT_KINDS for token in tail):
        raise Unreadable("there are words in it")
    bare = [token for token in tail if token.kind not in ("{", "}")]
    spelled = "".join(unit_of(token.text) if token.kind == "word" else token.text for token in bare)
    return found[:start], unit or spelled.replace("squared", "^2").replace("square", "^2")


class _Parser:
    """Reads an expression by the precedence of its operators."""

    def __init__(self, found: Sequence[FormulaToken]) -> None:
        self._found = list(found)
        self._place = 0
        self._depth = 0

    def whole(self) -> Expr:
        value = self._sum()
        if self._place < len(self._found):
            raise Unreadable(f"{self._found[self._place].text!r} stands where no formula goes on")
        return value

    def _next(self, ahead: int = 0) -> FormulaToken | None:
        place = self._place + ahead
        return self._found[place] if place < len(self._found) else None

    def _kind(self, ahead: int = 0) -> str:
        token = self._next(ahead)
        return token.kind if token is not None else ""

    def _take(self, kind: str = "") -> FormulaToken:
        token = self._next()
        if token is None or (kind and token.kind != kind):
            raise Unreadable(f"{kind or 'something'} is missing")
        self._place += 1
        return token

    def _sum(self) -> Expr:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise Unreadable("it nests too deep")
        value = self._product()
        while self._kind() in ("+", "-"):
            sign = self._take().kind
            other = self._product()
            value = value + other if sign == "+" else value - other
        self._depth -= 1
        return value

    def _product(self) -> Expr:
        value = self._signed()
        while True:
            kind = self._kind()
            if kind in ("*", "/"):
                self._take()
                other = self._signed()
                value = _times(value, other) if kind == "*" else _over(value, other)
            elif kind in ("number", "name", "command", "(", "{", "⌊", "⌈"):
                if kind == "number" and self._found[self._place - 1].kind == "number":
                    raise Unreadable("two numbers stand beside each other")
                value = _times(value, self._power())
            else:
                return value

    def _signed(self) -> Expr:
        sign = 1
        while self._kind() in ("+", "-"):
            sign = -sign if self._take().kind == "-" else sign
        return self._power() if sign == 1 else -self._power()

    def _power(self) -> Expr:
        token = self._next()
        value = self._postfix()
        if (
            token is not None
            and token.kind == "number"
            and token.text.isdigit()
            and self._found[self._place - 1] is token
        ):
            value = self._mixed(value)
        if self._kind() == "^":
            self._take()
            self._depth += 1
            if self._depth > MOST_DEPTH:
                raise Unreadable("it nests too deep")
            exponent = self._exponent()
            self._depth -= 1
            value = _raised(value, exponent)
        return value

    def _mixed(self, whole: Expr) -> Expr:
        """Return the value of 1 1/2 or 1\\frac{1}{2}, where a fraction follows a whole number."""
        before = self._place
        if self._kind() == "number" and self._kind(1) == "/" and self._kind(2) == "number" and self._take().spaced:
            above, below = _number(self._found[before].text), _number(self._found[before + 2].text)
            self._place = before + 3
        elif self._kind() == "command" and self._found[before].text == "frac":
            self._take()
            above, below = self._argument(), self._argument()
        else:
            self._place = before
            return whole
        if above.is_Integer and below.is_Integer and 0 < above < below:
            return whole + Rational(above, below)
        self._place = before
        return whole

    def _exponent(self) -> Expr:
        if self._kind() == "{":
            value = self._argument()
        elif self._kind() in ("-", "+"):
            sign = self._take().kind
            value = self._power() if sign == "+" else -self._power()
        else:
            return self._power()
        if self._kind() == "^":
            self._take()
            return _raised(value, self._exponent())
        return value

    def _postfix(self) -> Expr:
        value = self._atom()
        marks = ""
        while self._kind() in ("!", "%", "°", "'"):
            kind = self._take().kind
            marks += kind
            if len(marks) > 2 or marks in ("%%", "°°", "%°", "°%"):
                raise Unreadable("there are too many marks behind a value")
            if kind == "!":
                value = _factorial(value)
            elif kind == "'":
                raise Unreadable("a derivative")
            else:
                value = value * (PERCENT if kind == "%" else DEGREE)
        return value

    def _argument(self) -> Expr:
        """Return what follows a command: a group, or one digit, letter or command."""
        if self._kind() == "{":
            self._take()
            value = self._sum()
            self._take("}")
            return value
        token = self._next()
        if token is not None and token.kind == "number":
            self._place += 1
            if len(token.text) > 1 and token.text.isdigit():
                self._place -= 1
                self._found[self._place] = FormulaToken("number", token.text[1:])
            return _number(token.text[0] if token.text.isdigit() else token.text)
        return self._atom()

    def _atom(self) -> Expr:
        token = self._take()
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            return self._name(token)
        if token.kind == "command":
            return self._command(token.text)
        closing = {"(": ")", "[": "]", "{": "}", "|": "|", "⌊": "⌋", "⌈": "⌉"}.get(token.kind)
        if closing is None:
            raise Unreadable(f"{token.text!r} stands where a value should")
        value = self._sum()
        self._take(closing)
        made = {"|": sympy.Abs, "⌊": sympy.floor, "⌈": sympy.ceiling}.get(token.kind)
        return made(_radians(value)) if made is not None else value

    def _number(self, token: FormulaToken) -> Expr:
        value = _number(token.text)
        if self._kind() == "command" and self._found[self._place].text == "overline" and "." in token.text + ".":
            return self._repeating(token.text)
        return value

    def _repeating(self, text: str) -> Expr:
        """Return the value of 0.1 with repeating digits, as in 0.1\\overline{6}."""
        self._take()
        self._take("{")
        digits = self._take("number").text
        self._take("}")
        if not digits.isdigit() or "." not in text:
            raise Unreadable("repeating digits are none")
        places = len(text.partition(".")[2])
        return _number(text) + Rational(int(digits), (10 ** len(digits) - 1) * 10**places)

    def _name(self, token: FormulaToken) -> Expr:
        name = token.text
        if name in ("e", "i") and self._kind() != "_":
            return CONSTANTS[name]
        if self._kind() == "_":
            self._take()
            name += "_" + self._subscript()
        return Symbol(name)

    def _subscript(self) -> str:
        if self._kind() != "{":
            return self._take().text
        self._take()
        parts = []
        while self._kind() not in ("}", ""):
            parts.append(self._take().text)
        self._take("}")
        return "".join(parts)

    def _command(self, name: str) -> Expr:
        if name == "frac":
            above, below = self._argument(), self._argument()
            return _over(above, below)
        if name == "sqrt":
            return self._root()
        if name == "binom":
            n, k = self._argument(), self._argument()
            if not (n.is_Integer and k.is_Integer and 0 <= k <= n <= 1000):
                raise Unreadable("a binomial coefficient that is too large")
            return sympy.binomial(n, k)
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in FUNCTIONS:
            return self._function(name)
        raise Unreadable(f"\\{name} is not known")

    def _root(self) -> Expr:
        degree: Expr = Integer(2)
        if self._kind() == "[":
            self._take()
            degree = self._sum()
            self._take("]")
        if not (degree.is_Integer and 2 <= degree <= 100):
            raise Unreadable("a root of that degree")
        inner = self._argument()
        if inner.is_Rational and inner < 0 and degree % 2:
            return -_raised(-inner, 1 / degree)
        return _raised(inner, 1 / degree)

    def _function(self, name: str) -> Expr:
        made, base = FUNCTIONS[name], None
        power: Expr | None = None
        if self._kind() == "_":
            if name != "log":
                raise Unreadable("a function with a subscript")
            self._take()
            base = self._argument()
        if self._kind() == "^":
            self._take()
            power = self._argument() if self._kind() == "{" else self._atom()
        if self._kind() in ("(", "{", "|"):
            value = self._atom()
        else:
            value = self._signed()
            # sin 2x takes the names beside it along, as long as nothing else comes between.
            while self._kind() == "name" or (self._kind() == "command" and self._found[self._place].text == "pi"):
                value = _times(value, self._power())
        value = _radians(value)
        if power == -1:
            if name not in _INVERSE:
                raise Unreadable("an inverse that is not known")
            return _INVERSE[name](value)
        if name == "exp" and value.is_number and (value.has(oo) or abs(value.evalf(5)) > 10_000):
            raise Unreadable("an exponential that is too large")
        result = sympy.log(value) / sympy.log(base) if base is not None else made(value)
        return result if power is None else _raised(result, power)


def _radians(value: Expr) -> Expr:
    return value.subs(DEGREE, pi / 180).subs(PERCENT, Rational(1, 100)) if value.has(DEGREE, PERCENT) else value


def _number(text: str) -> Expr:
    return Rational(text.replace(",", ""))


def _bits(value: Expr) -> int:
    return max(int(value.p).bit_length(), int(value.q).bit_length()) if value.is_Rational else 0


def _checked(value: Expr) -> Expr:
    if value.is_Rational and _bits(value) > _MOST_BITS:
        raise Unreadable("a number that is too large")
    return value


def _times(one: Expr, other: Expr) -> Expr:
    return _checked(one * other)


def _over(above: Expr, below: Expr) -> Expr:
    if below.is_zero:
        raise Unreadable("a division by zero")
    return _checked(above / below)


def _raised(base: Expr, exponent: Expr) -> Expr:
    exponent = _radians(exponent)
    if exponent.has(oo) or base.has(oo):
        raise Unreadable("a power of infinity")
    if exponent.is_Rational:
        if _bits(exponent) > 64 or abs(exponent) > 10_000:
            raise Unreadable("a power that is too large")
        if base.is_Rational and _bits(base) * abs(int(exponent)) > _MOST_BITS:
            raise Unreadable("a power that is too large")
        if base.is_zero and exponent < 0:
            raise Unreadable("a division by zero")
        if base.free_symbols and abs(exponent) > _MOST_POWER:
            raise Unreadable("a power that is too large")
    elif exponent.is_number and base.is_number:
        size = abs(exponent.evalf(5))
        if not size.is_comparable or size > 10_000:
            raise Unreadable("a power that is too large")
    return _checked(base**exponent)


def _factorial(value: Expr) -> Expr:
    if value.is_Integer and 0 <= value <= 1000:
        return _checked(sympy.factorial(value))
    if value.is_Symbol:
        return sympy.factorial(value)
    raise Unreadable("a factorial that is too large")
