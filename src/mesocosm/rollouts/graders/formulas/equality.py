"""Compare two answers as values.

Two expressions are equal if they agree, to many digits, at points that are drawn anew each time. Numbers that are not
written out, such as 17*23 for 391, are unfinished.
"""

import itertools
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy
from sympy import Expr, I, Integer, Rational, Symbol, oo, pi

from mesocosm.rollouts.graders.formulas.expression import Formula
from mesocosm.rollouts.graders.formulas.reading import Assigned, Based, Equation, Grid, Group, Span, WordAnswer, span
from mesocosm.rollouts.graders.formulas.tokens import UNITS

_DIGITS = 60
_SAME = sympy.Float("1e-45", 20)
_MOST_NAMES = 20
_SHORT = 3
"""Letters of a name that is none in words: AB is not CD, but A may stand for the area."""
_SPARE = 6
"""Significant digits that a decimal needs to stand for a number that has no end."""


@dataclass
class Comparison:
    """How answers are compared: `why` is the last reason against one."""

    tolerance: float = 0.0
    unfinished: bool = False
    why: str = ""
    _points: random.Random = field(default_factory=random.SystemRandom)

    def equal(self, given: Any, right: Any) -> bool:
        """Return whether a given value is the right one."""
        given, right = _single(given), _single(right)
        if isinstance(given, Assigned):
            return self._assigned(given, right)
        if isinstance(right, Assigned):
            return self._of_assigned(given, right)
        if isinstance(given, WordAnswer) or isinstance(right, WordAnswer):
            return _same_words(given, right)
        if isinstance(given, Span) or isinstance(right, Span):
            return self._spans(span(given), span(right))
        ways: dict[tuple[type, type], Callable[[Any, Any], bool]] = {
            (Formula, Formula): self._formulas,
            (Formula, Based): lambda one, other: one.plain and not one.digits and str(one.value) == other.digits,
            (Based, Based): lambda one, other: one == other,
            (Equation, Equation): self._equations,
            (Equation, Formula): lambda one, other: one.number is not None and self.equal(one.number, other),
            (Grid, Grid): self._grids,
            (Grid, Group): self._column,
            (Group, Grid): lambda one, other: self._column(other, one),
            (Group, Group): self._groups,
        }
        way = ways.get((type(given), type(right)))
        return way is not None and way(given, right)

    def _of_assigned(self, given: Any, right: Assigned) -> bool:
        if not isinstance(given, Equation):
            return self.equal(given, right.value)
        value = right.value
        return isinstance(value, Formula) and self._equations(given, Equation(Symbol(right.name) - value.value))

    def _assigned(self, given: Assigned, right: Any) -> bool:
        if isinstance(right, Equation):
            return (
                isinstance(given.value, Formula)
                and not given.chain
                and self._equations(Equation(Symbol(given.name) - given.value.value), right)
            )
        keys = {_name_key(one.name) for one in (given, right) if isinstance(one, Assigned) and one.name}
        if len(keys) > 1 and all(len(key) <= _SHORT for key in keys):
            self.why = f"it is about {given.name}, and the right answer about {right.name}"
            return False
        right = right.value if isinstance(right, Assigned) else right
        loose = Comparison(self.tolerance, unfinished=True)
        if not all(loose.equal(step, right) for step in given.chain):
            self.why = "the sides of its equation are not equal"
            return False
        return self.equal(given.value, right)

    def _formulas(self, given: Formula, right: Formula) -> bool:
        factor = _conversion(given.unit, right.unit)
        if factor is None:
            self.why = f"its unit is {given.unit}, and {right.unit} is right"
            return False
        units = {given.unit, right.unit}
        if units == {"deg", ""}:
            bare, angle = (given, right) if right.unit else (right, given)
            if bare.value.has(pi):
                return self._same(bare.value, angle.value * pi / 180)
        if right.plain and not self.unfinished:
            undone = not given.plain or (given.unreduced and given.value.is_Integer)
            if undone and not given.value.free_symbols:
                self.why = "arithmetic is left to do in it"
                return False
        values = [given.value * factor]
        if units == {"percent", ""}:
            hundredth = Rational(1, 100)
            values.append(given.value * hundredth if given.unit else given.value * 100)
        return any(self._near(value, given, right) for value in values)

    def _near(self, value: Expr, given: Formula, right: Formula) -> bool:
        target = right.value
        if not value.free_symbols and not target.free_symbols:
            if self.tolerance and abs((value - target).evalf(_DIGITS)) <= self.tolerance * abs(target.evalf(_DIGITS)):
                return True
            if given.digits and _rounds(value, given.digits, target):
                return True
            if right.digits and given.digits == 0 and _rounds(target, right.digits, value):
                return True
        return self._same(value, target)

    def _same(self, one: Expr, other: Expr) -> bool:
        """Return whether two expressions are equal, at random points where they have names."""
        if one == other:
            return True
        if one.has(oo) or other.has(oo):
            return False
        names = sorted(one.free_symbols | other.free_symbols, key=str)
        if not names:
            if one.is_Rational and other.is_Rational:
                return False
            return _zero(one - other, other)
        if not one.free_symbols or not other.free_symbols or len(names) > _MOST_NAMES:
            return False
        agreed = 0
        for place in range(12):
            sign = 1 if place % 2 == 0 else -1
            point = {name: sign * Rational(self._points.randint(10**6, 4 * 10**6), 1_000_003) for name in names}
            value, target = one.subs(point), other.subs(point)
            if target.has(sympy.nan, sympy.zoo, oo):
                continue
            if not target.has(I) and not target.evalf(15).is_real:
                continue
            if value.has(sympy.nan, sympy.zoo, oo) or not _zero(value - target, target):
                return False
            agreed += 1
        return agreed >= 3

    def _equations(self, given: Equation, right: Equation) -> bool:
        if given.value.free_symbols != right.value.free_symbols or not right.value.free_symbols:
            return False
        if self._same(given.value, Integer(0)) or given.value.is_zero:
            self.why = "it is true of everything"
            return False
        names = sorted(right.value.free_symbols, key=str)
        ratios = []
        for _ in range(6):
            point = {name: Rational(self._points.randint(10**6, 4 * 10**6), 1_000_003) for name in names}
            above, below = given.value.subs(point), right.value.subs(point)
            if below.is_zero or above.is_zero or not above.evalf(20).is_number:
                return False
            ratios.append(above / below)
        return all(_zero(ratio - ratios[0], ratios[0]) for ratio in ratios[1:])

    def _grids(self, given: Grid, right: Grid) -> bool:
        if (len(given.rows), len(given.rows[0])) != (len(right.rows), len(right.rows[0])):
            return False
        cells = zip(itertools.chain(*given.rows), itertools.chain(*right.rows), strict=True)
        return all(self.equal(one, other) for one, other in cells)

    def _column(self, grid: Grid, group: Group) -> bool:
        """Compare a vector as a matrix of one row or column with one in brackets."""
        cells = tuple(itertools.chain(*grid.rows))
        if group.kind not in ("()", "ordered") or 1 not in (len(grid.rows), len(grid.rows[0])):
            return False
        return len(cells) == len(group.items) and all(map(self.equal, cells, group.items))

    def _spans(self, given: Any, right: Any) -> bool:
        if not (isinstance(given, Span) and isinstance(right, Span)):
            return False
        if given.name and right.name and given.name != right.name:
            return False
        if (given.has_low, given.has_high) != (right.has_low, right.has_high):
            return False
        return self._same(given.low, right.low) and self._same(given.high, right.high)

    def _groups(self, given: Group, right: Group) -> bool:
        loose = {"list", "set", "±"}
        if (
            right.kind in ("()", "ordered")
            and given.kind == "list"
            and all(isinstance(item, Assigned) for item in given.items)
        ):
            named = sorted(given.items, key=lambda item: item.name)
            letters = {item.name for item in named}
            if len(letters) == len(named) == len(right.items) and all(len(name) == 1 for name in letters):
                return all(map(self.equal, named, right.items))
            return False
        if given.kind in loose and right.kind in loose:
            return self._in_any_order(given.items, right.items)
        if given.kind != right.kind or len(given.items) != len(right.items):
            return False
        return all(map(self.equal, given.items, right.items))

    def _in_any_order(self, given: Sequence[Any], right: Sequence[Any]) -> bool:
        if len(given) != len(right):
            self.why = f"it gives {len(given)} answers, and {len(right)} are right"
            return False
        left = list(right)
        for item in map(span, given):
            place = next((place for place, other in enumerate(left) if self.equal(item, span(other))), None)
            if place is None:
                return False
            del left[place]
        return True


def _single(value: Any) -> Any:
    """Return the only item of a set or list of one."""
    while isinstance(value, Group) and value.kind in ("list", "set") and len(value.items) == 1:
        (value,) = value.items
    return value


def _name_key(name: str) -> str:
    return "".join(sorted(name.replace("_", "").casefold())) if len(name) > 1 else name


def _same_words(given: Any, right: Any) -> bool:
    if isinstance(given, WordAnswer) and isinstance(right, WordAnswer):
        return _stem(given.text) == _stem(right.text)
    return _lone_word(given) == _lone_word(right) != ""


def _lone_word(value: Any) -> str:
    """Return an answer of one word or letter, such as the letter of an option."""
    if isinstance(value, WordAnswer):
        return value.text if " " not in value.text else ""
    return (
        str(value.value).casefold() if isinstance(value, Formula) and value.value.is_Symbol and not value.unit else ""
    )


def _stem(text: str) -> str:
    words = [word for word in re.findall(r"\w+", text.casefold()) if word not in ("the", "a", "an")]
    return " ".join(words) or text.casefold().strip()


def _conversion(given: str, right: str) -> Rational | None:
    """Return what to multiply a value with to have it in the right unit; None if it cannot be."""
    if not given or not right or given == right:
        return Rational(1)
    one, _, power = given.partition("^")
    other, _, wanted = right.partition("^")
    if one in UNITS and other in UNITS and power == wanted and power in ("", "2", "3"):
        (kind, size), (meant, by) = UNITS[one], UNITS[other]
        if kind == meant:
            return (size / by) ** int(power or 1)
    return None


def _rounds(decimal: Expr, digits: int, target: Expr) -> bool:
    """Return whether a decimal of at least six digits is a number without end, cut off or rounded."""
    if digits < _SPARE or (target.is_Rational and _ends(int(target.q))) or not decimal.is_Rational:
        return False
    target_value = target.evalf(_DIGITS)
    if not target_value.is_real or decimal.is_zero:
        return False
    exponent = len(str(abs(int(decimal)))) if abs(decimal) >= 1 else 1 - len(str(int(1 / abs(decimal)))) + 0
    unit = Rational(10) ** (exponent - digits)
    short = abs(target_value) - abs(decimal)
    return bool(decimal * target_value > 0 and -unit / 2 <= short < unit)


def _ends(denominator: int) -> bool:
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    return denominator == 1


def _zero(difference: Expr, beside: Expr) -> bool:
    """Return whether a number is zero, beside the size of another."""
    if difference.is_Rational:
        return bool(difference == 0)
    value = difference.evalf(_DIGITS, maxn=4 * _DIGITS)
    size = abs(beside.evalf(15))
    if not value.is_number or value.has(sympy.nan):
        return False
    return bool(abs(value) <= _SAME * max(size, 1)) if size.is_comparable else False
