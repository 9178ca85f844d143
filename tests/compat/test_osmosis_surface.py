"""The stand-in for osmosis-ai has the modules and names of the published releases, to be called the same way."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.compat.osmosis_surface import INTERNAL, Line

import mesocosm

SHIM = Path(mesocosm.__file__).parent / "compat" / "osmosis"

ELSEWHERE = {
    "eval.rubric.engine|DEFAULT_API_KEY_ENV",
    "eval.rubric.engine|DEFAULT_REQUEST_TIMEOUT_SECONDS",
}
"""Names that docs/migrating-rollouts.md says are missing."""

OTHERWISE = {"rollout.driver|RolloutOutcome|0.3.0"}
"""Names that docs/migrating-rollouts.md says are to be called as in a later release."""

READ = """
import importlib, json, sys
from tests.compat.osmosis_surface import described

def read(module, name):
    value = importlib.import_module(("osmosis_ai." + module).rstrip("."))
    for part in name.split(".") if name else ():
        value = getattr(value, part)
    return described(value) if name else "module"

found = {}
for module, name in json.load(sys.stdin):
    try:
        found[module + "|" + name] = read(module, name)
    except (ImportError, AttributeError) as error:
        found[module + "|" + name] = f"! {type(error).__name__}: {error}"
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    """Return what the stand-in has for each thing of the table, or why it has nothing."""
    wanted = sorted({(line.module, line.name) for line in Line.read()})
    paths = os.pathsep.join([str(SHIM), str(Path(__file__).parents[2]), str(SHIM.parents[2])])
    done = subprocess.run(
        [sys.executable, "-c", READ],
        input=json.dumps(wanted),
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


def is_internal(module: str) -> bool:
    return module.startswith("_") or any(module == one or module.startswith(f"{one}.") for one in INTERNAL)


def test_every_module_is_there_or_says_what_to_use_instead(ours: dict[str, str]) -> None:
    wrong = {}
    for line in Line.read():
        said = ours[f"{line.module}|{line.name}"]
        if line.name or "pip install" in said:
            continue
        if is_internal(line.module) != said.startswith("! ModuleNotFoundError: mesocosm's stand-in"):
            wrong[line.module] = said
    assert wrong == {}


def test_every_name_is_there_and_takes_what_it_takes_in_the_package(ours: dict[str, str]) -> None:
    wrong = {}
    for line in Line.read():
        key = f"{line.module}|{line.name}"
        # Frameworks that are not installed here: tests/foreign uses those modules.
        absent = "pip install" in ours[key]
        if line.name and not absent and key not in ELSEWHERE and f"{key}|{line.until}" not in OTHERWISE:
            problem = difference(line.what, ours[key])
            if problem:
                wrong[f"{key} ({line.since} to {line.until})"] = problem
    assert wrong == {}


def difference(theirs: str, ours: str) -> str:
    """Return what the stand-in does not take or have, or "" if all that is written for theirs works with ours."""
    if ours.startswith("! "):
        return ours
    if theirs.startswith("= ") or theirs == "value":
        return ""
    if theirs.startswith("enum "):
        missing = set(theirs.split()) - set(ours.split())
        return f"without {', '.join(sorted(missing))}" if missing else ""
    if theirs.startswith("model"):
        return _fields(theirs.split()[1:], ours.split()[1:]) if ours.startswith("model") else f"is {ours}"
    if "(" not in theirs or "(" not in ours:
        return "" if theirs == ours else f"is {ours}, not {theirs}"
    before, after = theirs.split("(", maxsplit=1)[0], ours.split("(", maxsplit=1)[0]
    return f"is {after.strip() or 'synchronous'}" if before != after else _parameters(theirs, ours)


def _fields(theirs: list[str], ours: list[str]) -> str:
    missing = {name.rstrip("=") for name in theirs} - {name.rstrip("=") for name in ours}
    needed = {name for name in ours if not name.endswith("=")} - set(theirs)
    return "; ".join([*(f"no {name}" for name in sorted(missing)), *(f"needs {name}" for name in sorted(needed))])


def _parameters(theirs: str, ours: str) -> str:
    given, taken = _split(theirs), _split(ours)
    if "*args" in taken[0]:
        return ""
    for place, name in enumerate(given[0]):
        known = taken[0][place].rstrip("=") if place < len(taken[0]) else "nothing"
        if not name.startswith("*") and known != name.rstrip("="):
            return f"takes {known} where {name.rstrip('=')} is"
    if any(name.startswith("**") for name in taken[1]):
        return ""
    return _fields(given[0] + given[1], taken[0] + taken[1])


def _split(call: str) -> tuple[list[str], list[str]]:
    """Return the positional parameters of a call, and those by keyword."""
    words = [word for word in re.split(r",\s*", call.split("(", 1)[1].rstrip(")")) if word]
    if "*" in words:
        return words[: words.index("*")], words[words.index("*") + 1 :]
    return [word for word in words if not word.startswith("**")], [word for word in words if word.startswith("**")]


@pytest.mark.parametrize(
    ("theirs", "ours", "problem"),
    [
        ("async (self, a)", "(self, a)", "is synchronous"),
        ("(a, b=)", "(a, b=, c=)", ""),
        ("(a, b=)", "(a, b=, c)", "needs c"),
        ("(a, b)", "(b, a)", "takes b where a is"),
        ("(*, a, b=)", "(*, a)", "no b"),
        ("model a b=", "model a b", "needs b"),
        ("enum x y", "enum x", "without y"),
        ("'x'", "'y'", "is 'y', not 'x'"),
    ],
)
def test_a_difference_is_seen(theirs: str, ours: str, problem: str) -> None:
    assert difference(theirs, ours) == problem
