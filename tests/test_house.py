"""Rules of the house that no linter knows."""

import ast
import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from mesocosm.core.source import syntax_tree

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for top in ("src", "tests", "perf", "examples") for path in (ROOT / top).rglob("*.py"))
LIGHT = {
    "mesocosm",
    "msgspec",
    "pydantic",
    "pydantic_core",
    "annotated_types",
    "typing_extensions",
    "typing_inspection",
}


def test_no_file_has_a_name_that_says_nothing() -> None:
    empty = {"utils", "util", "helpers", "helper", "common", "misc", "managers", "manager"}
    # The older package had a module of this name, which repositories in the wild import.
    allowed = ROOT / "src" / "bench_common" / "utils"
    assert [path for path in SOURCES if path.stem in empty or path.parent.name in empty - {"utils"}] == []
    assert [path for path in SOURCES if path.parent.name == "utils" and path.parent != allowed] == []


def modules_after(statement: str) -> set[str]:
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("package", ["core.ports", "core.vow", "core.registry", "stats", "engine.session"])
def test_the_lower_floors_import_nothing_heavy(package: str) -> None:
    foreign = {name for name in modules_after(f"import mesocosm.{package}") if not name.startswith("_")}
    assert foreign - LIGHT - sys.stdlib_module_names == set()


def test_the_help_of_the_program_imports_click_and_nothing_else() -> None:
    found = modules_after("from mesocosm.cli.main import call; call(['--help'])")
    heavy = {"sqlalchemy", "alembic", "pydantic", "fastapi", "uvicorn", "rich", "litellm", "asyncio", "zstandard"}
    assert found & heavy == set()


FOREIGN_NAMES = {
    # Repositories in the wild import them from bench_common.
    "Settings",
    "TraceStore",
    # The documents of the published swecc client, by the names that its API has for them.
    "Episode",
    "Metric",
    "Run",
    "RunStatus",
}
PUBLIC_NAMES = {
    # What `mesocosm` exports, around what the engine stores or the store opens under the same name.
    *("Context", "Limits", "Runs"),
}
DEFINED_TWICE = {
    *("Answer", "Benchmark", "Change", "Comparison", "Content", "Counts", "Entry"),
    *("Kind", "Measured", "Member", "Terms", "Watch", "Written"),
}
"""Names that still wait for a rename. Only ever remove some."""


def packages_of_public_classes() -> dict[str, set[str]]:
    packages = defaultdict(set)
    for path in SOURCES:
        folders = path.relative_to(ROOT).parts
        if folders[0] == "src" and "templates" not in folders:
            for node in syntax_tree(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    packages[node.name].add("/".join(folders[1:-1][:2]))
    return packages


def test_no_two_packages_define_the_same_public_class() -> None:
    twice = {name: places for name, places in packages_of_public_classes().items() if len(places) > 1}
    assert {name: twice[name] for name in twice.keys() - FOREIGN_NAMES - PUBLIC_NAMES - DEFINED_TWICE} == {}


def test_the_exceptions_for_class_names_are_still_needed() -> None:
    twice = {name for name, places in packages_of_public_classes().items() if len(places) > 1}
    assert sorted((FOREIGN_NAMES | PUBLIC_NAMES) - twice) == []


PRIVATE = re.compile(r"^(?:(?:async )?def |class )?(_(?!_)\w+)", re.MULTILINE)


def test_every_private_name_of_a_module_is_used_there() -> None:
    unused = []
    for path in (path for path in SOURCES if path.is_relative_to(ROOT / "src")):
        text = path.read_text(encoding="utf-8")
        words = Counter(re.findall(r"\w+", text))
        # What is decorated is registered somewhere.
        names = PRIVATE.findall(re.sub(r"^@.*\n.*", "", text, flags=re.MULTILINE))
        unused += [f"{path}: {name}" for name in names if words[name] == 1]
    assert unused == []
