r"""The words and signs of a formula, in LaTeX and as people type it."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import Expr, I, Rational, oo, pi

MOST_DIGITS = 400


class Unreadable(ValueError):
    """A text is no mathematics that this grammar knows, or would grow beyond its limits."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


GREEK = words(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi rho sigma tau "
    "upsilon phi varphi chi psi omega Gamma Delta Theta Lambda Xi Sigma Upsilon Phi Psi Omega ell"
)


def _log(value: Expr) -> Expr:
    return sympy.log(value) / sympy.log(10)


TRIGONOMETRIC = words("sin cos tan cot sec csc")
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    name: getattr(sympy, name)
    for name in TRIGONOMETRIC | words("sinh cosh tanh exp asin acos atan acot asec acsc asinh acosh atanh floor")
}
FUNCTIONS |= {f"arc{name}": getattr(sympy, f"a{name}") for name in TRIGONOMETRIC}
FUNCTIONS |= {"ln": sympy.log, "log": _log, "lg": _log, "abs": sympy.Abs, "ceil": sympy.ceiling}
CONSTANTS: dict[str, Expr] = {"pi": pi, "infty": oo, "infinity": oo, "inf": oo, "e": sympy.E, "i": I}
_SIZES = {
    "length": "mm=1/1000 cm=1/100 m=1 km=1000",
    "feet": "in=1/12 ft=1 yd=3 mi=5280",
    "mass": "mg=1/1000 g=1 kg=1000",
    "time": "s=1 min=60 h=3600 day=86400",
    "volume": "ml=1/1000 l=1",
    "money": "dollar=1 cent=1/100",
    "angle": "deg=1",
    "arc": "rad=1",
    "share": "percent=1",
}
UNITS: dict[str, tuple[str, Rational]] = {
    pair.partition("=")[0]: (kind, Rational(pair.partition("=")[2]))
    for kind, sizes in _SIZES.items()
    for pair in words(sizes)
}
_SPELLED = {
    spelled: unit
    for unit, forms in {
        "m": "meter metre",
        "km": "kilometer kilometre",
        "cm": "centimeter centimetre",
        "mm": "millimeter millimetre",
        "g": "gram",
        "kg": "kilogram",
        "mg": "milligram",
        "s": "second sec",
        "min": "minute",
        "h": "hour hr",
        "in": "inch inche",
        "ft": "foot feet",
        "yd": "yard",
        "mi": "mile",
        "l": "liter litre",
        "ml": "milliliter",
        "deg": "degree",
        "rad": "radian",
        "dollar": "usd",
    }.items()
    for spelled in words(forms)
}
LONE_UNITS = words("m g s h l")
JOINING = words("and or")
DENYING = words(
    "not no nor never wrong incorrect false maybe perhaps probably possibly either between if unless except versus vs "
    "rather instead than but approximately about roughly almost"
)
EMPTY = words("emptyset varnothing")


@dataclass(frozen=True, slots=True)
class FormulaToken:
    """`kind` is number, name, word (text in words), command, or the sign itself; `spaced`: white space before it."""

    kind: str
    text: str
    spaced: bool = False


REPLACED = [
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\\(?:left|right|bigl?|bigr|Bigl?|Bigr|biggl?|biggr|displaystyle|textstyle|limits)(?![a-zA-Z])\.?", ""),
        (r"\\[dtc]frac(?![a-zA-Z])", r"\\frac"),
        (r"(?<=\d)(?:,?\\[,!;]\s*|\{,\}|\\ )(?=\d{3}(?!\d))", ""),
        (r"\\[,!;:> ]|\\q?quad(?![a-zA-Z])|~|&nbsp;", " "),
        (r"\\(?:cdot|times|ast)(?![a-zA-Z])|[·×⋅∙∗]", "*"),
        (r"\\div(?![a-zA-Z])|[÷⁄∕]", "/"),
        (r"\\(?:leq|leqslant|le)(?![a-zA-Z])|≤|=<", "<="),
        (r"\\(?:geq|geqslant|ge)(?![a-zA-Z])|≥", ">="),
        (r"\\lt(?![a-zA-Z])", "<"),
        (r"\\gt(?![a-zA-Z])", ">"),
        (r"\\(?:approx|simeq)(?![a-zA-Z])|≈", "="),
        (r"\\(?:neq|ne)(?![a-zA-Z])|≠", "≠"),
        (r"\\(?:pm|mp)(?![a-zA-Z])|\+/-|\+-", "±"),
        (r"\\(?:circ|degree)(?![a-zA-Z])|\^\s*\{\s*\\circ\s*\}|\^\s*°|º", "°"),
        (r"\\cup(?![a-zA-Z])", "∪"),
        (r"\\in(?![a-zA-Z])", "∈"),
        (r"\\(?:lbrace)(?![a-zA-Z])|\\\{", "⦃"),
        (r"\\(?:rbrace)(?![a-zA-Z])|\\\}", "⦄"),
        (r"\\langle(?![a-zA-Z])|⟨", "("),
        (r"\\rangle(?![a-zA-Z])|⟩", ")"),
        (r"\\l?r?vert(?![a-zA-Z])", "|"),
        (r"\\(?:lfloor)(?![a-zA-Z])", "⌊"),
        (r"\\(?:rfloor)(?![a-zA-Z])", "⌋"),
        (r"\\(?:lceil)(?![a-zA-Z])", "⌈"),
        (r"\\(?:rceil)(?![a-zA-Z])", "⌉"),
        (r"\\%", "%"),
        (r"\\\$|€|£", "$"),
        (r"\*\*", "^"),
        (r"[−–]", "-"),
        (r"¢", r"\\text{cents}"),
        (r"∞", r"\\infty "),
        (r"π", r"\\pi "),
        (r"√", r"\\sqrt "),
        (r"∅", r"\\emptyset "),
    )
]
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_PATTERN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<words>\\(?:text|textbf|textit|textrm|mathrm|mathit|mathbf|mbox|operatorname|textnormal)\s*\*?\s*\{(?P<inner>[^{}]*)\})"
    r"|(?P<matrix>\\begin\s*\{[pbB]?(?:matrix|array)\}(?:\{[lcr|]*\})?)|(?P<matrixend>\\end\s*\{[pbB]?(?:matrix|array)\})"
    r"|(?P<row>⏎)"
    r"|(?P<command>\\[a-zA-Z]+)"
    r"|(?P<number>\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+\.(?=\\overline)|\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<letters>[^\W\d_]+)"
    r"|(?P<sign><=|>=|[-+*/^_=<>!|()\[\]{},;&%°$±∪∈⦃⦄⌊⌋⌈⌉≠':∠.])"
)


def tokens(text: str) -> list[FormulaToken]:
    """Return the tokens of a text. Raises Unreadable."""
    text = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+", lambda found: f"^{{{found[0].translate(_RAISED)}}}", text)
    text = re.sub(r"(\d)([¼-¾⅐-⅞])", r"\1 \2", text)
    text = re.sub(r"[¼-¾⅐-⅞]", lambda found: unicodedata.normalize("NFKC", found[0]).replace("\u2044", "/"), text)
    text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?", "°", text)
    text = text.replace("\\\\", "⏎")
    text = text.replace("\\(", " ").replace("\\)", " ").replace("\\[", " ").replace("\\]", " ")
    for pattern, sign in REPLACED:
        text = pattern.sub(sign, text)
    found: list[FormulaToken] = []
    place, spaced = 0, False
    while place < len(text):
        hit = _PATTERN.match(text, place)
        if hit is None:
            raise Unreadable(f"{text[place]!r} is no part of a formula")
        place = hit.end()
        kind = hit.lastgroup
        if kind == "inner":
            kind = "words"
        if kind == "space":
            spaced = True
            continue
        found += _tokens_of(str(kind), hit, spaced=spaced)
        spaced = False
    return found


def _tokens_of(kind: str, hit: "re.Match[str]", *, spaced: bool) -> Iterator[FormulaToken]:
    text = hit[0]
    if kind == "words":
        yield from _worded(hit["inner"] or "")
    elif kind == "letters":
        yield from _lettered(text, spaced=spaced)
    elif kind == "command":
        name = text[1:]
        if name in GREEK:
            yield FormulaToken("name", name, spaced)
        elif name in ("angle", "triangle", "measuredangle"):
            yield FormulaToken("∠", name, spaced)
        else:
            yield FormulaToken("command", name, spaced)
    elif kind == "number":
        if sum(letter.isdigit() for letter in text) > MOST_DIGITS:
            raise Unreadable("a number is too long")
        yield FormulaToken("number", text, spaced)
    else:
        yield FormulaToken(kind if kind in ("matrix", "matrixend", "row") else text, text, spaced)


def _worded(inner: str) -> Iterator[FormulaToken]:
    """Yield the tokens of text within a formula."""
    for part in re.finditer(r"[^\W\d_]+|\d+(?:\.\d+)?|[-+,;°%$^()/]", inner):
        piece = part[0]
        if piece[0].isdigit():
            yield FormulaToken("number", piece, spaced=True)
        else:
            yield FormulaToken("word" if piece[0].isalpha() else piece, piece, spaced=True)


def _lettered(text: str, *, spaced: bool) -> Iterator[FormulaToken]:
    """Yield the tokens of plain letters: a function, a constant, a word or unit, or a product of names."""
    lower = text.lower()
    if lower in JOINING or lower in DENYING:
        yield FormulaToken("word", lower, spaced)
    elif lower in FUNCTIONS or lower in ("sqrt", "pi", "infinity", "inf"):
        yield FormulaToken("command", "infty" if lower in ("inf", "infinity") else lower, spaced)
    elif len(text) >= 4 or (len(text) > 1 and unit_of(text) in UNITS):
        yield FormulaToken("word", text, spaced)
    else:
        for place, letter in enumerate(text):
            yield FormulaToken("name", letter, spaced and not place)


def unit_of(word: str) -> str:
    """Return the short name of a unit, or an unknown word in the singular."""
    lower = word.lower() if len(word) > 2 else word
    for form in (lower, lower.removesuffix("s")):
        if form in _SPELLED:
            return _SPELLED[form]
        if form in UNITS:
            return form
    return lower.removesuffix("s") if len(lower) > 3 else lower
