"""Count which replies of the form battery the graders accept, beside the extraction rules of other harnesses.

`python -m perf.forms [PYTHON]` writes the table of docs/graders.md. PYTHON is an interpreter that has lm-eval,
inspect-ai and math-verify; without it, only our own rows are written, and what is absent is said. `make forms` installs
them.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mesocosm.rollouts.graders.choice import ChoiceConfig, ChoiceRule
from mesocosm.rollouts.graders.normalised import NormalisedRule
from mesocosm.rollouts.graders.numeric import NumericRule
from perf.peers.table import put

ROOT = Path(__file__).parents[1]
BATTERY = ROOT / "tests" / "rollouts" / "graders" / "forms"
PAGE = ROOT / "docs" / "graders.md"
BEGIN = "<!-- written by python -m perf.forms: begin -->"
END = "<!-- written by python -m perf.forms: end -->"
PARTS = ("tuned", "held_out")
KINDS = {"numeric": "numbers", "choice": "options", "text": "texts"}
GRADERS = {"numeric": "`numeric`", "choice": "`choice`", "text": "`normalised`"}


@dataclass(frozen=True)
class Form:
    """A reply; `right` says whether a grader should accept it for `gold`, `why` what it is an example of."""

    kind: str
    part: str
    gold: str
    reply: str
    right: bool
    why: str
    options: tuple[str, ...] = ()


def battery(kind: str, part: str) -> Iterator[Form]:
    """Yield the forms of a file: headings say what follows, `gold :: reply` with ⏎ for a line break is a form."""
    why = ""
    options: tuple[str, ...] = ()
    for line in (BATTERY / part / f"{kind}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# options: "):
            options = tuple(line.removeprefix("# options: ").split(" | "))
        elif line.startswith("# "):
            why = line[2:]
        elif line:
            gold, _, reply = line.partition(" ::")
            yield Form(kind, part, gold, reply[1:].replace("⏎", "\n"), why.startswith("right"), why, options)


def forms() -> list[Form]:
    """Return the whole battery."""
    return [form for kind in KINDS for part in PARTS for form in battery(kind, part)]


def others(form: Form) -> list[str]:
    """Return golds for which a right form is wrong."""
    if form.kind == "choice":
        return [letter for letter in "ABCD" if letter != form.gold]
    if form.kind == "text":
        return [text for text in ("London", "Rome", "York", "Tower") if text != form.gold]
    gold = float(form.gold)
    near = [gold + 1, gold - 1, gold * 10, gold / 10, -gold - 100, 17, 16, 9, 4, 3, 2, 1, 0.5, 0]
    return [f"{value:.12g}" for value in near if abs(value - gold) > 1e-6]


Accepts = Callable[[Form, str], bool]


def ours(kind: str) -> Accepts:
    """Return what our grader accepts, with its default options."""
    if kind == "choice":
        chooses = ChoiceRule(ChoiceConfig(choices_from="options"))
        return lambda form, gold: chooses.grade(form.reply, gold, {"options": form.options}).value == 1
    rule = NumericRule() if kind == "numeric" else NormalisedRule()
    return lambda form, gold: rule.grade(form.reply, gold).value == 1


Verdicts = list[bool]
"""Whether each form of the battery is accepted, in its order."""


def main() -> None:
    """Write the table."""
    all_forms = forms()
    rows: list[tuple[str, str, Verdicts]] = []
    for kind, name in GRADERS.items():
        accepts = ours(kind)
        rows.append((kind, name, [accepts(form, form.gold) for form in all_forms if form.kind == kind]))
    absent = "the packages of the others: no interpreter that has them was named"
    if len(sys.argv) > 1:
        theirs = peers(sys.argv[1], all_forms)
        rows += [(row["kind"], row["rule"], row["verdicts"]) for row in theirs["rows"]]
        absent = "; ".join(theirs["absent"])
    PAGE.write_text(put(PAGE.read_text(), table(all_forms, rows, absent), BEGIN, END))


def peers(python: str, all_forms: list[Form]) -> dict[str, Any]:
    """Return the verdicts of the rules that an interpreter has, and what it lacks."""
    asked = json.dumps([asdict(form) for form in all_forms])
    command = [python, str(Path(__file__).with_name("forms_peers.py"))]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr.strip()[-2000:]}")
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def table(all_forms: list[Form], rows: list[tuple[str, str, Verdicts]], absent: str) -> str:
    """Return the block: a row for each rule, with the share of right and of wrong forms that it accepts."""
    lines = ["| of | rule | right accepted | wrong accepted |", "|---|---|--:|--:|"]
    for kind, title in KINDS.items():
        of_kind = [form for form in all_forms if form.kind == kind]
        for row_kind, rule, verdicts in rows:
            if row_kind == kind:
                cells = [
                    _share([v for form, v in zip(of_kind, verdicts, strict=True) if form.right is right])
                    for right in (True, False)
                ]
                lines.append(f"| {title} | {rule} | {cells[0]} | {cells[1]} |")
    return "\n".join([*lines, *(["", f"Absent: {absent}."] if absent else [])])


def _share(verdicts: Verdicts) -> str:
    return f"{100 * sum(verdicts) / len(verdicts):.1f} % ({sum(verdicts)} of {len(verdicts)})"


if __name__ == "__main__":
    main()
