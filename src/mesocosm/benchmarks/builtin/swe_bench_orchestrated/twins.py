"""Twins of hidden tests: copies with one different expected value, so that correct code fails each twin.

The code under test runs in the process of the tests, and may have read this file. It can disable assertions, fake a
report, or read the tests and return what they expect; but only correct code can tell a test from its twin. All tests of
a file are rewritten, so that neither position nor formatting distinguishes them.
"""

import ast
import copy
import re
import string
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from random import SystemRandom
from typing import Any

from mesocosm.core.source import expression_tree, syntax_tree

_EQUAL = ("assertEqual", "assertEquals", "assertListEqual", "assertTupleEqual", "assertDictEqual", "assertIs")


@dataclass(frozen=True, slots=True)
class Twinned:
    """The source of a test file with twins, and the names of these; each must fail."""

    source: str
    names: tuple[str, ...]


def twinned(source: str, wanted: Collection[str]) -> Twinned:
    """Return a test file with a twin for each test in `wanted` that compares for equality."""
    try:
        tree = syntax_tree(source)
    except (SyntaxError, ValueError):
        return Twinned(source, ())
    rng = SystemRandom()
    known = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    words = sorted({word for name in known if name.startswith("test_") for word in name.split("_")[1:] if word})
    names: list[str] = []
    places: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    for place in places:
        tests = [node for node in place.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
        for test in tests:
            twin = _twin(test, rng)
            if twin is not None:
                twin.name = _name(test.name, words, known, rng)
                known.add(twin.name)
                names.append(twin.name)
                place.body.insert(place.body.index(test) + rng.randrange(2), twin)
    return Twinned(f"{ast.unparse(tree)}\n", tuple(names)) if names else Twinned(source, ())


def parts(name: str) -> list[str]:
    """Return the parts of a test's name in a report."""
    return re.split(r"[.:\s()\[\]]+", name)


def _name(like: str, words: list[str], known: Collection[str], rng: SystemRandom) -> str:
    """Return a new name made of words from the other names, as long as `like`."""
    count = min(max(len(like.split("_")) - 1, 2), len(words))
    for _ in range(20):
        name = "_".join(("test", *rng.sample(words, count)))
        if name not in known:
            return name
    return f"{like}_{rng.choice(words)}_{rng.randrange(2, 1000)}"


def _twin(test: ast.FunctionDef, rng: SystemRandom) -> ast.FunctionDef | None:
    """Return a copy of a test with another expected value in one comparison; None if it compares nothing."""
    if any(isinstance(node, ast.Return) for node in ast.walk(test)):
        return None
    twin = copy.deepcopy(test)
    places = list(_expected(twin))
    if not places:
        return None
    plain = [place for place in places if _literal(place[0][place[1]])]
    holder, index = rng.choice(plain or places)
    holder[index] = _other(holder[index], rng)
    return ast.fix_missing_locations(twin)


def _expected(test: ast.FunctionDef) -> Iterator[tuple[list[ast.expr], int]]:
    """Yield the positions of expected values, in statements that always run when the test passes."""
    for statement in test.body:
        if isinstance(statement, ast.Assert) and isinstance(statement.test, ast.Compare):
            compared = statement.test
            if len(compared.ops) == 1 and isinstance(compared.ops[0], ast.Eq):
                yield compared.comparators, 0
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            call = statement.value
            if isinstance(call.func, ast.Attribute) and call.func.attr in _EQUAL and len(call.args) >= 2:
                first = len(call.args) > 1 and _literal(call.args[0]) and not _literal(call.args[1])
                yield call.args, 0 if first else 1


def _literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _other(node: ast.expr, rng: SystemRandom) -> ast.expr:
    """Return another value of the same kind; for an expression that is not a literal, a list of it."""
    if not _literal(node):
        return ast.List([node], ast.Load())
    return expression_tree(repr(_changed(ast.literal_eval(node), rng)))


def _changed(value: Any, rng: SystemRandom) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + rng.choice((-2, -1, 1, 2))
        case str() if value:
            # As long as it was: of two texts the shorter one would be the right one.
            at = rng.randrange(len(value))
            alike = string.digits if value[at].isdigit() else string.ascii_lowercase
            return value[:at] + rng.choice(alike.replace(value[at].lower(), "")) + value[at + 1 :]
        case str():
            return rng.choice(string.ascii_lowercase)
        case list() | tuple() if value:
            at = rng.randrange(len(value))
            return type(value)((*value[:at], _changed(value[at], rng), *value[at + 1 :]))
        case dict() if value:
            key = rng.choice(list(value))
            return {**value, key: _changed(value[key], rng)}
    return [value]
