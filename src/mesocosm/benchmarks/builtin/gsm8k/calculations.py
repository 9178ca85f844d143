"""Compare the calculations of a wrong reply with those of the worked solution, and say where it went wrong."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from mesocosm.core.one_line import cut

_MARKED = re.compile(r"<<([^<>=]{1,200})=([^<>]{1,60})>>")
_WRITTEN = re.compile(
    r"(?P<formula>\$?-?\d[\d,.]*%?(?:\s*[-+*/x\u00d7\u00f7\u2212]\s*\(?\$?\d[\d,.]*%?\)?){1,12})\s*=\s*\$?(?P<result>-?\d[\d,]*\.?\d*)"
)
_NUMBER = re.compile(r"-?\d[\d,]*\.?\d*")
_NEAR = 1e-6
_FORMULA = 60
_FACTORS = (2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 12.0, 60.0, 100.0, 1000.0)


class Calculation(NamedTuple):
    """A calculation as written, and its result; None if that is no number."""

    formula: str
    result: float | None


def calculations(text: str) -> list[Calculation]:
    """Return the calculations of a solution in order: those marked `<<formula=result>>`, else those written out."""
    marked = [Calculation(found[1].strip(), _number(found[2])) for found in _MARKED.finditer(text)]
    if marked:
        return marked
    return [Calculation(found["formula"].strip(), _number(found["result"])) for found in _WRITTEN.finditer(text)]


def wrong(reply: str, given: float | None, question: str, reference: str, gold: float) -> tuple[str, str]:
    """Return why a reply is wrong, in one sentence, and the kind of its mistake.

    `given` is the number that the reply states, None if it states no single one; `gold` is the right number, and
    `reference` the worked solution.
    """
    if given is None:
        return "It states no single final number", "No final number"
    own, known = calculations(reply), calculations(reference)
    return next(chain(_of_number(given, gold, question, known), _of_steps(given, gold, own, known)))


def _of_number(given: float, gold: float, question: str, known: Sequence[Calculation]) -> Iterator[tuple[str, str]]:
    """Yield what the stated number itself says of the mistake."""
    stated, right = f"{given:.12g}", f"{gold:.12g}"
    place = next((place for place, one in enumerate(known[:-1], 1) if _same(one.result, given)), 0)
    if place:
        yield (
            f"{stated} is the result of step {place} of {len(known)} in the reference",
            "Stopped at an intermediate result",
        )
    if _same(-given, gold):
        yield f"{stated} has the wrong sign, expected {right}", "Wrong sign"
    if given < 0 <= gold:
        yield f"{stated} is negative, expected {right}", "Negative where positive is due"
    if gold.is_integer() and not given.is_integer():
        yield f"{stated} is not a whole number, expected {right}", "Not a whole number"
    if factor := _factor(given, gold):
        yield f"{stated} is {factor} the right {right}", "Off by a simple factor"
    if any(_same(_number(number), given) for number in _NUMBER.findall(question)):
        yield f"{stated} stands in the question, expected {right}", "Repeats a number of the question"


def _of_steps(
    given: float, gold: float, own: Sequence[Calculation], known: Sequence[Calculation]
) -> Iterator[tuple[str, str]]:
    """Yield what the calculations say of the mistake."""
    if not known or not own:
        yield f"It states {given:.12g}, expected {gold:.12g}", "Another number"
    elif len(own) != len(known):
        mistake = "Left out a step" if len(own) < len(known) else "Extra or other steps"
        yield f"{_calculations(len(own))}, the reference has {len(known)}{_absent(own, known)}", mistake
    else:
        pairs = enumerate(zip(own, known, strict=True), 1)
        differs = next(((n, a, b) for n, (a, b) in pairs if not _same(a.result, b.result)), None)
        mistake = "Right number of steps, wrong values"
        if differs is None:
            yield f"It computes the {gold:.12g} of the reference, but states {given:.12g}", mistake
        else:
            step, a, b = differs
            yield f"Step {step} of {len(known)} is {_written(a)}, in the reference {_written(b)}", mistake


def _absent(own: Sequence[Calculation], known: Sequence[Calculation]) -> str:
    """Return the first calculation of the reference whose result no own one has; without one, one that is not in it."""
    for step, one in enumerate(known, 1):
        if not any(_same(other.result, one.result) for other in own):
            return f"; none gives its step {step}, {_written(one)}"
    more = next((one for one in own if not any(_same(other.result, one.result) for other in known)), None)
    return "" if more is None else f"; {_written(more)} is not in it"


def _written(one: Calculation) -> str:
    formula = cut(one.formula, _FORMULA)
    return formula if one.result is None else f"{formula}={one.result:.12g}"


def _calculations(count: int) -> str:
    return f"{count} calculation{'' if count == 1 else 's'}"


def _factor(given: float, gold: float) -> str:
    """Return by which simple factor a number is off, in words; empty if by none."""
    if not gold or not given:
        return ""
    for factor in _FACTORS:
        if _same(given, gold * factor):
            return f"{factor:g} times"
        if _same(given * factor, gold):
            return f"1/{factor:g} of"
    return ""


def _same(one: float | None, other: float | None) -> bool:
    return one is not None and other is not None and abs(one - other) < _NEAR * max(1.0, abs(other))


def _number(text: str) -> float | None:
    found = _NUMBER.search(text.replace("$", ""))
    try:
        return float(found[0].replace(",", "")) if found else None
    except ValueError:
        return None
