"""What the pages show really happens: marked blocks are written to files and run, in the order of the page.

A block is marked on the line that opens it. `file=NAME` writes it, `run` runs it (sh, python) in a directory of the
page's own, and a block `text output` behind it holds lines that must come out, where `…` stands for anything.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.forked import ForkServer

pytestmark = pytest.mark.usefixtures("forked")

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(?P<language>\w+)(?P<marks>(?: [^\n]+)?)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 120


@dataclass(frozen=True)
class Block:
    language: str
    marks: frozenset[str]
    text: str

    @property
    def file(self) -> str:
        return next((mark.removeprefix("file=") for mark in self.marks if mark.startswith("file=")), "")


def blocks(page: Path) -> Iterator[Block]:
    for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
        yield Block(match["language"], frozenset(match["marks"].split()), match["text"])


PAGES = [DOCS.parent / "README.md", *DOCS.rglob("*.md")]
RUNNABLE = sorted(page for page in PAGES if any("run" in block.marks for block in blocks(page)))


def run(block: Block, number: int, place: Path, programs: Path) -> str:
    """Run a block, which finds our programs in a directory, and return what it printed."""
    if block.language == "python":
        script = place / (block.file or f"example_{number}.py")
        script.write_text(block.text, encoding="utf-8")
        command = [sys.executable, str(script)]
    else:
        command = ["sh", "-e", "-c", block.text]
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        cwd=place,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{block.text}\nexit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def missing_lines(expected: str, printed: str) -> list[str]:
    """The lines of `expected` that were not printed."""
    patterns = [(line, re.escape(line).replace("…", ".*")) for line in expected.splitlines() if line.strip()]
    return [line for line, pattern in patterns if not re.search(f"^{pattern}$", printed, re.MULTILINE)]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.stem))
def test_marked_examples_do_what_the_page_says(page: Path, tmp_path: Path, fork_server: ForkServer | None) -> None:
    programs = fork_server.scripts if fork_server else Path(sys.executable).parent
    printed = ""
    for number, block in enumerate(blocks(page)):
        if "run" in block.marks:
            printed = run(block, number, tmp_path, programs)
        elif block.file:
            (tmp_path / block.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
        elif "output" in block.marks:
            missing = missing_lines(block.text, printed)
            assert not missing, f"not printed: {missing}\nprinted was:\n{printed}"


def test_the_guides_have_runnable_examples() -> None:
    guides = {"getting-started", "environments", "models", "agents", "library", "results"}
    assert {page.stem for page in RUNNABLE} >= guides | {"benchmarks", "benchmark-authors", "built-in-benchmarks"}


def test_a_line_that_was_not_printed_is_noticed() -> None:
    assert missing_lines("a … c\n\nx", "a b c\ny\n") == ["x"]
