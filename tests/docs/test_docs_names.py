"""Files and modules that the pages name are there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "mesocosm"
PAGES = sorted((ROOT / "docs").rglob("*.md")) + [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md")
]
BASES = (ROOT, ROOT / "src", PACKAGE)
PACKAGES = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
FOLDERS = PACKAGES | {"src", "tests", "docs", "perf", "examples", "deploy", "viewer"}

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
PATH = re.compile(r"[\w.-]+/[\w./-]*")
MODULE = re.compile(r"mesocosm(\.\w+)+")
ANY = re.compile(r"(?:^|/)[A-Z]+(?:[./]|$)")
"""A part in capitals stands for any name."""
KINDS = ("models", "agents", "techniques", "sources", "benchmark_dirs", "executors")
GROUPS = {f"mesocosm.{kind}" for kind in KINDS}
"""Groups of entry points look like modules, and not all of them are some."""


def named(page: Path) -> list[str]:
    return [match[1] for match in CODE.finditer(FENCE.sub("", page.read_text(encoding="utf-8")))]


def is_there(name: str) -> bool:
    """Whether a dotted name leads to a module or to something in one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            if not hasattr(found, part):
                return False
            found = getattr(found, part)
        return True
    return False


def missing_in(words: list[str]) -> list[str]:
    paths = [word for word in words if PATH.fullmatch(word) and not ANY.search(word)]
    files = [path for path in paths if path.partition("/")[0] in FOLDERS]
    modules = [word for word in words if MODULE.fullmatch(word) and word not in GROUPS]
    lost = [path for path in files if not any((base / path).exists() for base in BASES)]
    return lost + [name for name in modules if not is_there(name)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_what_a_page_names_is_there(page: Path) -> None:
    assert missing_in(named(page)) == []


def test_what_is_not_there_would_be_noticed() -> None:
    there = ["core/ports.py", "src/mesocosm/engine/session.py", "store/NOUN.py", "mesocosm.core.run.Run"]
    gone = ["core/gone.py", "docs/gone.md", "mesocosm.gone", "mesocosm.core.run.Gone"]
    assert missing_in(there + gone) == gone
