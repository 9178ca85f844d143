"""Read an answer: an expression, words, an equation, an interval, a set, a list, a pair or a matrix."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Symbol, oo

from mesocosm.rollouts.graders.formulas.expression import MOST_DEPTH, Formula, formula
from mesocosm.rollouts.graders.formulas.tokens import EMPTY, JOINING, FormulaToken, Unreadable, tokens, words

MOST_CHARS = 2000
_MOST_ITEMS = 50


@dataclass(frozen=True)
class WordAnswer:
    """An answer in words."""

    text: str


@dataclass(frozen=True)
class Group:
    """Several answers: `kind` is list (in any order), set, ordered, or the brackets of a pair such as `(]`."""

    kind: str
    items: tuple[Any, ...]


@dataclass(frozen=True)
class Assigned:
    """`x = 3`: the name, and the value. `chain` are values between, which must be equal."""

    name: str
    value: Any
    chain: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Equation:
    """An equation between expressions: the difference of its sides, and the plain number that names are equal to."""

    value: Expr
    number: Formula | None = None


@dataclass(frozen=True)
class Span:
    """An interval: its ends, and whether they belong to it. `name` where it was written as a relation."""

    low: Expr
    high: Expr
    has_low: bool
    has_high: bool
    name: str = ""


@dataclass(frozen=True)
class Grid:
    """A matrix."""

    rows: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Based:
    """Digits in a base."""

    digits: str
    base: int


_OPENING = {"(": ")", "[": "]", "{": "}", "⦃": "⦄", "⌊": "⌋", "⌈": "⌉", "matrix": "matrixend"}
_CLOSING = frozenset(_OPENING.values())


def read(text: str) -> Any:
    """Return the value of a text. Raises Unreadable."""
    text = text.strip()
    if len(text) > MOST_CHARS:
        raise Unreadable(f"an answer of more than {MOST_CHARS:,} characters")
    text = (
        text.replace("$", " $ ")
        if re.fullmatch(r"\s*\\?\$\s*-?[\d.,]+.*", text)
        else text.replace("\\$", "€").replace("$", " ")
    )
    text = re.sub(r"[.,;:\s]+$", "", text)
    found = tokens(text)
    if not found or len(found) > MOST_CHARS:
        raise Unreadable("there is nothing to read")
    _check_depth(found)
    return _whole(found)


def _check_depth(found: Sequence[FormulaToken]) -> None:
    open_: list[str] = []
    for token in found:
        if token.kind in _OPENING:
            open_.append(token.kind)
        elif token.kind in _CLOSING and open_:
            # Half-open intervals close with the other kind.
            open_.pop()
        elif token.kind in _CLOSING:
            raise Unreadable("a bracket is closed and was not opened")
        if len(open_) > MOST_DEPTH:
            raise Unreadable("it nests too deep")
    if open_:
        raise Unreadable("a bracket is not closed")


def _split(
    found: Sequence[FormulaToken], kinds: frozenset[str] | set[str], words: frozenset[str] = frozenset()
) -> list[list[FormulaToken]]:
    """Return the parts between separators outside of brackets; of several separators in a row one counts."""
    parts: list[list[FormulaToken]] = [[]]
    depth, bars, last = 0, 0, False
    for token in found:
        if token.kind in _OPENING:
            depth += 1
        elif token.kind in _CLOSING:
            depth -= 1
        elif token.kind == "|":
            bars ^= 1
        separates = depth == 0 and (token.kind in kinds or (token.kind == "word" and token.text.lower() in words))
        if not separates:
            parts[-1].append(token)
        elif not last:
            parts.append([])
        last = separates
    if len(parts) > _MOST_ITEMS:
        raise Unreadable("there are too many parts")
    return parts


def _wrapping(found: Sequence[FormulaToken]) -> bool:
    """Return whether the first token opens what the last one closes."""
    depth = 0
    for place, token in enumerate(found):
        if token.kind in _OPENING:
            depth += 1
        elif token.kind in _CLOSING:
            depth -= 1
            if depth == 0:
                return place == len(found) - 1
    return False


def _whole(found: list[FormulaToken]) -> Any:
    found = _member(found)
    if not found:
        raise Unreadable("there is nothing to read")
    unions = _split(found, {"∪"})
    if len(unions) > 1:
        return Group("set", tuple(span(_whole(part)) for part in unions))
    parts = _split(found, {",", ";"}, JOINING)
    if len(parts) > 1:
        return _listed(parts, found)
    if found[0].kind in ("(", "[", "⦃", "{") and _wrapping(found):
        return _bracketed(found)
    return _item(found)


def _listed(parts: list[list[FormulaToken]], found: list[FormulaToken]) -> Any:
    if any(not part for part in parts):
        raise Unreadable("a part of the list is empty")
    items = [
        _item(part) if not (part[0].kind in ("(", "[", "⦃") and _wrapping(part)) else _bracketed(part) for part in parts
    ]
    if all(isinstance(item, WordAnswer) for item in items):
        return WordAnswer(" ".join(_plain_words(found)))
    flat = tuple(
        itertools.chain.from_iterable(
            item.items if isinstance(item, Group) and item.kind == "±" else [item] for item in items
        )
    )
    if (
        len(items) > 1
        and all(isinstance(item, Span) and item.name for item in items)
        and any(token.text == "or" for token in found)
    ):
        return Group("set", tuple(items))
    return Group("list", flat)


def span(value: Any) -> Any:
    """Return a pair in brackets as an interval; anything else as it is."""
    if isinstance(value, Group) and len(value.kind) == 2 and len(value.items) == 2:
        low, high = (item.value if isinstance(item, Formula) else None for item in value.items)
        if low is not None and high is not None:
            return Span(low, high, value.kind[0] == "[", value.kind[1] == "]")
    return value


def _member(found: list[FormulaToken]) -> list[FormulaToken]:
    """Return what is behind `x ∈`."""
    if len(found) > 2 and found[0].kind == "name" and found[1].kind == "∈":
        return found[2:]
    return found


def _bracketed(found: list[FormulaToken]) -> Any:
    first, last, inner = found[0].kind, found[-1].kind, found[1:-1]
    if not inner:
        if first == "⦃":
            return WordAnswer("empty set")
        raise Unreadable("there is nothing in the brackets")
    if first == "[" and inner[0].kind == "[":
        return _grid([_bracket_items(part) for part in _split(inner, {","})])
    parts = _split(inner, {",", ";"}, JOINING if first == "⦃" else frozenset())
    if first in ("⦃", "{"):
        if len(parts) == 1 and first == "{":
            return _whole(inner)
        if first == "⦃" or len(parts) > 1:
            items = tuple(_whole(part) for part in parts)
            flat = tuple(
                itertools.chain.from_iterable(
                    item.items if isinstance(item, Group) and item.kind in ("±", "list") else [item] for item in items
                )
            )
            return Group("set", flat)
    if len(parts) == 1 and inner[0].kind == "matrix" and _wrapping(inner):
        return _item(inner)
    if len(parts) == 1:
        if first == "(" and last == ")" and all(token.kind in ("word", "name") for token in inner):
            return _item(inner)
        return _item(found)
    kind = first + last if len(parts) == 2 else "ordered"
    return Group(kind, tuple(_whole(part) for part in parts))


def _bracket_items(found: list[FormulaToken]) -> list[list[FormulaToken]]:
    if len(found) < 2 or found[0].kind != "[" or not _wrapping(found):
        raise Unreadable("a row of the matrix is none")
    return _split(found[1:-1], {","})


def _grid(rows: list[list[list[FormulaToken]]]) -> Grid:
    read_rows = tuple(tuple(formula(cell) for cell in row) for row in rows)
    if not read_rows or len({len(row) for row in read_rows}) != 1:
        raise Unreadable("the rows of the matrix have different lengths")
    return Grid(read_rows)


def _item(found: list[FormulaToken]) -> Any:
    if not found:
        raise Unreadable("there is nothing to read")
    if found[0].kind == "matrix" and _wrapping(found):
        rows = [_split(row, {"&"}) for row in _split(found[1:-1], {"row"}) if row]
        return _grid(rows)
    if len(found) == 1 and found[0].kind == "command" and found[0].text in EMPTY:
        return WordAnswer("empty set")
    parts = _split(found, {"=", "<", ">", "<=", ">=", "≠"})
    signs = _signs(found)
    if len(parts) != len(signs) + 1 or any(not part for part in parts):
        raise Unreadable("a side of the relation is empty")
    if not signs:
        return _either(found)
    if "≠" in signs:
        raise Unreadable("an inequation")
    if set(signs) == {"="}:
        return _equal(parts)
    return _relation(parts, signs)


def _signs(found: Sequence[FormulaToken]) -> list[str]:
    depth, signs = 0, []
    for token in found:
        depth += (token.kind in _OPENING) - (token.kind in _CLOSING)
        if depth == 0 and token.kind in ("=", "<", ">", "<=", ">=", "≠"):
            signs.append(token.kind)
    return signs


_MARKS = words("gcd lcm det max min dim overline vec hat bar tilde mathbf deg")
_FIRST = frozenset(("name", "word", "∠"))
_NAMING = _FIRST | frozenset(("(", ")", "'", "_", "{", "}", ",", "|", "^"))


def _named(part: Sequence[FormulaToken]) -> str:
    """Return the name that a side of an equation is, such as x, f(x), ∠ABC, P(A) or a word; empty if it is none."""
    bare = [token for token in part if token.kind != "command" or token.text not in _MARKS]
    if part and all(token.kind in _NAMING for token in bare) and (bare != part or part[0].kind in _FIRST):
        return "".join(token.text for token in bare if token.kind not in ("{", "}"))
    if (
        len(part) > 2
        and part[0].kind == "("
        and _wrapping(part)
        and all(token.kind in ("name", ",", "(", ")") for token in part)
    ):
        return "".join(token.text for token in part)
    # x_1 and f(2) are names too.
    if len(part) > 2 and part[0].kind == "name" and part[1].kind in ("_", "("):
        closed = part[1].kind == "_" or (part[-1].kind == ")" and len(part) <= 5)
        if closed and all(token.kind in _NAMING or token.kind == "number" for token in part) and len(part) <= 6:
            return "".join(token.text for token in part if token.kind not in ("{", "}"))
    return ""


def _equal(parts: list[list[FormulaToken]]) -> Any:
    name = _named(parts[0])
    if name:
        values = [_value_side(part) for part in parts[1:]]
        last = values[-1]
        if isinstance(last, Formula) and Symbol(name) in last.value.free_symbols and len(parts) == 2:
            return _equation(parts)
        return Assigned(name, last, tuple(values[:-1]))
    if len(parts) == 2 and any(token.kind in ("name", "word") for part in parts for token in part):
        return _equation(parts)
    values = [_either(part) for part in parts]
    if any([token.text for token in part] == [token.text for token in parts[-1]] for part in parts[:-1]):
        raise Unreadable("it is true of everything")
    return Assigned("", values[-1], tuple(values[:-1]))


def _value_side(part: list[FormulaToken]) -> Any:
    if part[0].kind in ("(", "[", "⦃", "{") and _wrapping(part):
        return _bracketed(part)
    return _item(part)


def _equation(parts: list[list[FormulaToken]]) -> Equation:
    left, right = (formula(part) for part in parts)
    numbered = any(token.kind in ("number", "^") for token in parts[0])
    return Equation(left.value - right.value, right if right.plain and not numbered else None)


def _relation(parts: list[list[FormulaToken]], signs: list[str]) -> Span:
    if "=" in signs or len(parts) > 3:
        raise Unreadable("a chain of relations")
    names = [place for place, part in enumerate(parts) if len(part) == 1 and part[0].kind == "name"]
    values = [formula(part).value for part in parts]
    if len(parts) == 2 and len(names) == 1:
        (place,) = names
        bound, sign = values[1 - place], signs[0]
        if bound.free_symbols:
            raise Unreadable("a relation between names")
        below = (sign[0] == "<") == (place == 0)
        name = parts[place][0].text
        if below:
            return Span(-oo, bound, has_low=False, has_high="=" in sign, name=name)
        return Span(bound, oo, has_low="=" in sign, has_high=False, name=name)
    if len(parts) == 3 and names == [1] and signs[0][0] == signs[1][0]:
        low, high, has = values[0], values[2], ["=" in sign for sign in signs]
        if signs[0][0] == ">":
            low, high, has = high, low, has[::-1]
        return Span(low, high, has[0], has[1], parts[1][0].text)
    raise Unreadable("a relation that is not about one name")


def _plain_words(found: Sequence[FormulaToken]) -> list[str]:
    return [token.text.casefold() for token in found if token.kind in ("word", "name", "command")]


def _either(found: list[FormulaToken]) -> Any:
    """Return words, digits in a base, two values of ±, or a formula."""
    kinds = {token.kind for token in found}
    if kinds <= {"word", "name", "-", "(", ")", ".", ",", "'"} and any(token.kind == "word" for token in found):
        return WordAnswer(" ".join(_plain_words(found)))
    if (based := _based(found)) is not None:
        return based
    if sum(token.kind == "±" for token in found) == 1:
        signed = [[FormulaToken(sign, sign) if token.kind == "±" else token for token in found] for sign in "+-"]
        return Group("±", tuple(formula(one) for one in signed))
    return formula(found)


def _based(found: Sequence[FormulaToken]) -> Based | None:
    flat = [token for token in found if token.kind not in ("{", "}")]
    if [token.kind for token in flat] != ["number", "_", "number"]:
        return None
    digits, _, base = (token.text for token in flat)
    return Based(digits, int(base)) if digits.isdigit() and base.isdigit() and len(base) <= 2 else None
