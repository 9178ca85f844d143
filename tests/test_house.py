"""Rules of the house that no linter knows."""

import subprocess
import sys
from pathlib import Path

import pytest

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
