"""`python -m perf.bfcl PYTHON [COUNT] [--write]`: PYTHON has `bfcl-eval`; `make test-bfcl` installs it and calls this.

COUNT answers of each language family are judged twice; half of them answer questions made by chance, and half of them
published ones. Ends with 1 if a verdict differs. With `--write` the table of docs/bfcl-rules.md
and the verdicts that tests/benchmarks/bfcl repeats are written.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.benchmarks.bfcl.mutated import KINDS, Row, digest_of, official_verdict, rows
from tests.benchmarks.bfcl.test_official import RECORDED, RECORDED_ROWS, SEED

from mesocosm.benchmarks.builtin.bfcl.categories import Language
from perf.bfcl import forms

PAGE = Path(__file__).parents[2] / "docs" / "bfcl-rules.md"
BEGIN, FORMS_BEGIN, END = "<!-- written by perf/bfcl -->", "<!-- written by perf/bfcl/forms.py -->", "<!-- end -->"
PROGRAM = Path(__file__).with_name("leaderboard.py")
COUNT = 60_000


def verdicts(python: str, answers: Sequence[Row]) -> list[bool | None]:
    """Return what the leaderboard's checker says; None where it did not end."""
    said = subprocess.run(
        [python, str(PROGRAM)], input="\n".join(map(json.dumps, answers)), capture_output=True, text=True, check=True
    )
    found = [json.loads(line) for line in said.stdout.splitlines()]
    if len(found) != len(answers):
        raise SystemExit(f"{len(answers)} answers have {len(found)} verdicts: {said.stderr[-2000:]}")
    return found


def language_of(row: Row) -> str:
    """Return the language family of a question."""
    last = row["category"].rpartition("_")[2]
    return last if last in KINDS else "python"


def compare(python: str, language: Language, count: int, published: Sequence[Row]) -> tuple[str, int]:
    """Return a line of the table, and the number of differences. Prints the first five."""
    answers = list(rows(1, language, count, published))
    theirs = verdicts(python, answers)
    differing = [
        (row, verdict)
        for row, verdict in zip(answers, theirs, strict=True)
        if verdict is not None and verdict != official_verdict(row)
    ]
    for row, verdict in differing[:5]:
        print(f"the leaderboard says {verdict}: {json.dumps(row)}")
    texts, unending = sum("text" in row for row in answers), theirs.count(None)
    line = f"| {language} | {len(answers):,} | {texts:,} | {theirs.count(True):,} | {unending} | {len(differing)} |"
    return line, len(differing)


def main(python: str, count: int = COUNT, *, write: bool = False) -> int:
    """Compare every language family; return the number of differences."""
    said = subprocess.run([python, str(PROGRAM), "data"], capture_output=True, text=True, check=True).stdout
    published = [json.loads(line) for line in said.splitlines()]
    lines = [
        "| language | answers | of them text | right | the checker did not end | differences |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    total = 0
    for language in KINDS:
        own = [row for row in published if language_of(row) == language]
        line, differing = compare(python, language, count, own)
        print(line)
        lines.append(line)
        total += differing
    if write:
        _put(BEGIN, lines)
        _put(FORMS_BEGIN, list(forms.table([row for row in published if language_of(row) == "python"])))
        RECORDED.write_text(json.dumps(_recorded(python), indent=1) + "\n", encoding="utf-8")
    return total


def _put(begin: str, lines: Sequence[str]) -> None:
    """Write lines between a mark of the page and the next end."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(begin)
    after = rest.partition(END)[2]
    PAGE.write_text("\n".join([before + begin, "", *lines, "", END + after]), encoding="utf-8")


def _recorded(python: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for language in KINDS:
        answers = list(rows(SEED, language, RECORDED_ROWS))
        letters = {True: "1", False: "0", None: "?"}
        said = "".join(letters[verdict] for verdict in verdicts(python, answers))
        found[language] = {"answers": digest_of(answers), "verdicts": said}
    return found


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--write"]
    sys.exit(1 if main(given[0], *map(int, given[1:2]), write="--write" in sys.argv) else 0)
