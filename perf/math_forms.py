r"""Compare the grader `math` with the package math-verify on our own right and wrong answers, and write the table.

Run `python -m perf.math_forms PYTHON [--write]`: PYTHON is an interpreter that has the package `math-verify`. With
`--write` the table in docs/graders.md is replaced.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.rollouts.graders.math_forms import RIGHT, WRONG

from mesocosm.rollouts.graders.math import MathConfig, MathRule

PAGE = Path(__file__).parents[1] / "docs/graders.md"
BEGIN, END = "<!-- perf/math_forms.py -->\n", "<!-- end -->\n"
_FOREIGN = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from math_verify import parse, verify
for line in sys.stdin:
    asked = json.loads(line)
    try:
        right = bool(verify(parse("$" + asked["label"].strip("$") + "$"), parse(asked["answer"])))
    except Exception:
        right = False
    print(json.dumps(right))
"""
Asked = list[tuple[str, str]]


def boxed(answer: str) -> str:
    """Return an answer in a box, unless it is one or would close it."""
    if "\\boxed" in answer or answer.count("{") != answer.count("}"):
        return answer
    return f"So it is $\\boxed{{{answer.strip('$')}}}$."


def asked(forms: dict[str, tuple[str, ...]]) -> Asked:
    """Return every answer with its label."""
    return [(label, answer) for label, answers in forms.items() for answer in answers]


def ours(pairs: Asked, **options: bool) -> list[bool]:
    """Return the verdicts of the grader."""
    rule = MathRule(MathConfig.model_validate(options))
    return [rule.grade(answer, label).value == 1 for label, answer in pairs]


def theirs(pairs: Asked, python: str) -> list[bool]:
    """Return the verdicts of math-verify."""
    lines = "".join(json.dumps({"label": label, "answer": answer}) + "\n" for label, answer in pairs)
    done = subprocess.run([python, "-c", _FOREIGN], input=lines, capture_output=True, text=True, check=True)
    verdicts = [bool(json.loads(line)) for line in done.stdout.splitlines()]
    if len(verdicts) != len(pairs):
        raise SystemExit(f"math-verify ended after {len(verdicts)} of {len(pairs)} answers")
    return verdicts


def table(python: str) -> str:
    """Return the table."""
    right, wrong = asked(RIGHT), asked(WRONG)
    frames = {"alone": lambda answer: answer, "in a box": boxed}
    rows = [f"| | {len(right)} right answers: refused | {len(wrong)} wrong answers: accepted |", "|---|---|---|"]
    for name, frame in frames.items():
        framed = [[(label, frame(answer)) for label, answer in pairs] for pairs in (right, wrong)]
        rows += [
            _row(f"`math`, answers {name}", *map(ours, framed)),
            _row(f"math-verify, answers {name}", *(theirs(pairs, python) for pairs in framed)),
        ]
    return "\n".join(rows) + "\n"


def _row(name: str, right: Iterable[bool], wrong: Iterable[bool]) -> str:
    refused, accepted = [not verdict for verdict in right], list(wrong)
    shares = (f"{sum(found)} ({sum(found) / len(found):.1%})" for found in (refused, accepted))
    return f"| {name} | {' | '.join(shares)} |"


def main() -> None:
    """Print the table, or write it into the page."""
    python, *rest = sys.argv[1:] or sys.exit(__doc__)
    text = table(python)
    print(text)
    if "--write" in rest:
        page = PAGE.read_text(encoding="utf-8")
        before, _, behind = page.partition(BEGIN)
        PAGE.write_text(before + BEGIN + text + END + behind.partition(END)[2], encoding="utf-8")


if __name__ == "__main__":
    main()
