"""Read the tests of a row from its metadata or label."""

import ast
import builtins
import json
import symtable
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mesocosm.rollouts.graders.answer import MissingLabel

_FORMS = (
    "Python text with assert statements or a function check(candidate), a list of such texts, "
    'a list of {"args", "kwargs", "expected"}, for a class with "steps", or a list of {"stdin", "stdout"}'
)


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The input of a program, and its expected output."""

    stdin: str
    stdout: str


@dataclass(frozen=True, slots=True)
class Tests:
    """Tests of the functions `names`, in the form of `mesocosm.sandboxes.functions`, or dialogues with the program."""

    setup: str = ""
    calls: tuple[Mapping[str, Any], ...] = ()
    names: tuple[str, ...] = ()
    dialogues: tuple[Dialogue, ...] = ()


def read_tests(held: object, entry_point: str) -> Tests:
    """Return the tests. Raises MissingLabel if there are none, or if none depends on the answer."""
    if isinstance(held, str) and held.lstrip().startswith("["):
        try:
            held = json.loads(held)
        except (ValueError, RecursionError) as error:
            raise MissingLabel(f"the tests begin like a JSON list and are none: {error}") from None
    if isinstance(held, str) and held.strip():
        return _written([held], entry_point)
    if isinstance(held, list) and held:
        if all(isinstance(item, str) for item in held):
            return _written(held, entry_point)
        if all(isinstance(item, dict) and "stdout" in item for item in held):
            return _dialogues(held)
        if all(isinstance(item, dict) and "expected" in item for item in held):
            return _calls(held, entry_point)
    raise MissingLabel(f"the row has no tests: they should be {_FORMS}, and are {held!r:.80}")


def _dialogues(items: list[dict[str, Any]]) -> Tests:
    dialogues = tuple(Dialogue(str(item.get("stdin", "")), str(item["stdout"])) for item in items)
    if not any(dialogue.stdout.strip() for dialogue in dialogues):
        raise MissingLabel("the tests expect no output at all: a program that does nothing would pass them")
    return Tests(dialogues=dialogues)


def _calls(items: list[dict[str, Any]], entry_point: str) -> Tests:
    if not entry_point:
        raise MissingLabel(
            "tests with args and expected need the name of the function: set entry_point, or entry_point_from to the "
            "metadata that holds it"
        )
    return Tests(calls=tuple(_call(item, entry_point) for item in items), names=(entry_point,))


def _call(item: dict[str, Any], entry_point: str) -> dict[str, Any]:
    call = {
        "call": entry_point,
        "args": list(item.get("args", ())),
        "kwargs": dict(item.get("kwargs") or {}),
        "expected": item["expected"],
    }
    if "steps" not in item:
        return call
    steps, expected = item["steps"], item["expected"]
    named = isinstance(steps, list) and all(isinstance(s, list) and s and str(s[0]).isidentifier() for s in steps)
    if not named or not isinstance(expected, list) or len(expected) != len(steps):
        raise MissingLabel(
            '"steps" should be a list of [method, argument, ...], and "expected" as long a list of values'
        )
    if all(value is None for value in expected):
        raise MissingLabel("the steps expect nothing but null: any object would pass them")
    return {**call, "steps": steps}


def _written(texts: list[str], entry_point: str) -> Tests:
    """Split texts into setup and assertions; every asserting statement is a separate test."""
    setup: list[ast.stmt] = []
    asserted: list[ast.stmt] = []
    for text in texts:
        for statement in _parsed(text).body:
            (asserted if _asserts(statement) else setup).append(statement)
    if not asserted and "check" in _made(setup):
        if not entry_point:
            raise MissingLabel("tests with a function check(candidate) need the name of the function: set entry_point")
        asserted = [ast.parse(f"check({entry_point})").body[0]]
    names = _free([*setup, *asserted])
    if not asserted or not names:
        raise MissingLabel("the tests assert nothing about the answer: any program would pass them")
    calls = tuple({"code": ast.unparse(statement)} for statement in asserted)
    return Tests("\n".join(map(ast.unparse, setup)), calls, tuple(names))


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:
        raise MissingLabel(f"the tests are not Python: {error}") from None


def _asserts(statement: ast.stmt) -> bool:
    """Return whether a top-level statement asserts or calls; definitions, imports and assignments are setup."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Call)
    return isinstance(statement, ast.Assert | ast.For | ast.While | ast.With | ast.Try | ast.If)


def _made(statements: list[ast.stmt]) -> set[str]:
    return {statement.name for statement in statements if isinstance(statement, ast.FunctionDef)}


def _free(statements: list[ast.stmt]) -> list[str]:
    """Return the global names that statements use without defining them: those that the answer must define."""
    module = ast.Module(statements, [])
    tables = [symtable.symtable(ast.unparse(module), "tests", "exec")]
    top, used = tables[0], set[str]()
    for table in tables:
        tables += table.get_children()
        used |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_global() or table is top}
    made = {symbol.get_name() for symbol in top.get_symbols() if symbol.is_assigned() or symbol.is_imported()}
    return sorted(used - made - set(dir(builtins)) - {"__name__"})
