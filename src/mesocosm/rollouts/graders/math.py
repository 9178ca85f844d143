r"""Compare the mathematical answer that a reply comes to with the label: as values, not as texts.

The answer is what the reply states last: in `\boxed{}`, behind `Answer:` or "the answer is"; without any statement,
the last formula of its last line. Both are compared in a process of its own (`formulas`), which has limits of time and
memory, because a formula can be made to take forever.
"""

import importlib.util
import json
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from mesocosm.core.number import MOST_STATED
from mesocosm.core.thought import split_thought
from mesocosm.rollouts.graders.answer import AnswerConfig, extract, labels
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, RuleGrader, failed, passed
from mesocosm.rollouts.graders.workers import LineWorkers

SECONDS = 3.0
"""CPU seconds that one comparison may take."""
_MOST_ANSWER = 2000
_MOST_LINE = 200
_PROGRAM = """
import sys
sys.path.append(sys.argv[1])
from mesocosm.rollouts.graders.formulas.program import main
main()
"""
_WORKERS = LineWorkers(
    [sys.executable, "-I", "-X", "utf8", "-c", _PROGRAM, str(Path(__file__).parents[3])], wall_seconds=60 * SECONDS
)
NO_SYMPY = 'the grader math needs sympy; install it with: pip install "mesocosm[math]"'

_STATED = re.compile(
    r"\\(?:boxed|fbox)\s?\{"
    r"|####[ \t]*+"
    r"|(?:^|\n|[.,;!?][ \t])[ \t#>*_-]*+(?:the[ \t]++)?(?:final[ \t]++)?"
    r"(?:(?:answers?|solutions?|results?)[ \t]*+\**+[ \t]*+(?::|=|is:?)|A:)[ \t]*+\**+[ \t]*+\n?"
    r"|\b(?:answers?|solutions?|results?)[ \t]++(?:is|are)(?![a-z])[ \t]*+:?",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s?\{")
_STRUCK = re.compile(r"~~[^~\n]{0,400}~~")
_DENIED_BEFORE = re.compile(
    r"\b(?:not|never|cannot|wrong|incorrect)\b[^.\n]{0,40}$|n['’]t\b[^.\n]{0,40}$", re.IGNORECASE
)
_DENIED_BEHIND = re.compile(
    r"^[^.\n]{0,20}\b(?:is|was|are|seems|would be)[ \t]+(?:not|wrong|incorrect|false)\b"
    r"|^[^.\n\w]{0,10}(?:wrong|incorrect|or)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[^\s\d])\.(?=\s|$)|(?<=\d)\.(?=\s+[A-Z]|$)|\n")
_LEADING = re.compile(r"(?:(?:therefore|thus|then|hence|simply|just|equal to|given by)\b[ \t,:]*)+", re.IGNORECASE)
_REASON = re.compile(
    r"(?:,[ \t]*+|[ \t]\(?)(?:since|because|as|which|where|so|i\.e\.)[ \t].*", re.IGNORECASE | re.DOTALL
)
_TOTAL = re.compile(r"[^\d=]*\b(?:is|are|equals|equal)[ \t]+([^=]+?)\.?")
_BETWEEN = re.compile(r"[\s$,;]*(?:and|or|\\text\{\s*(?:and|or)\s*\})?[\s$,;]*")
_MATHS = re.compile(r"\$\$([^$]+)\$\$|\$([^$]+)\$|\\\((.{1,500}?)\\\)|\\\[(.{1,500}?)\\\]")
_HEDGED = re.compile(r"\b(?:not|or|either|between|wrong|incorrect|cannot|maybe|perhaps)\b|n['’]t\b|\?", re.IGNORECASE)


class MathConfig(AnswerConfig):
    """Options of the grader `math`.

    `tolerance`: by what share of the label a right number may be off; 0 is exactly equal. With `unfinished`,
    arithmetic that is left to do is done for the answer: 17*23 is then 391.
    """

    name: str = "math"
    tolerance: float = Field(default=0.0, ge=0, lt=1, allow_inf_nan=False)
    unfinished: bool = False


class MathRule:
    """Grade 1 if the reply's answer is equal to the label's, else 0."""

    def __init__(self, config: MathConfig | None = None) -> None:
        self.config: MathConfig = config or MathConfig()

    def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Return the verdict on a reply. Raises MissingLabel, or RuntimeError without sympy."""
        right = [_unboxed(text) for text in labels(label, metadata, self.config)]
        if _lacks_sympy():
            raise RuntimeError(NO_SYMPY)
        answer = self.given(reply)
        if not answer or len(answer) > _MOST_ANSWER:
            return failed(f"{NOTHING}: none is stated at the end")
        asked = {"answer": answer, "labels": right, "seconds": SECONDS}
        asked |= {"tolerance": self.config.tolerance, "unfinished": self.config.unfinished}
        said = _WORKERS.ask(json.dumps(asked).encode() + b"\n")
        if said is None:
            return GraderVerdict(0.0, {"math_too_slow": 1.0}, f"{answer[:100]!r} takes too long to compare")
        found = json.loads(said)
        return passed() if found["right"] else failed(found["why"])

    def given(self, reply: str) -> str:
        """Return the answer that a reply states, as it is written; empty if there is none, or too many."""
        config = self.config
        text = _STRUCK.sub(" ", split_thought(reply[-config.max_chars :])[1])
        if config.after or config.pattern or config.last:
            return _unboxed(extract(text, config))
        stated = list(_statements(text))
        if not stated:
            return _concluded(text)
        if len(set(stated)) > MOST_STATED:
            return ""
        return stated[-1]


def _statements(text: str) -> Iterator[str]:
    """Yield the answers that a text states; empty for one that it denies. Boxes beside each other are one."""
    place, boxed_to = 0, -1
    boxes: list[str] = []
    while hit := _STATED.search(text, place):
        start = place = hit.end()
        if _BOX.match(hit[0]):
            inner = _braced(text, start)
            place = start + len(inner) + 1
            denied = _DENIED_BEFORE.search(text[max(0, hit.start() - 60) : hit.start()]) or _DENIED_BEHIND.search(
                text[place : place + 60].lstrip("$ ")
            )
            together = boxes and boxed_to >= 0 and _BETWEEN.fullmatch(text[boxed_to : hit.start()])
            if boxes and not together:
                yield ", ".join(boxes)
                boxes = []
            boxes.append("" if denied else inner.strip())
            boxed_to = place
            continue
        rest = text[start : start + _MOST_ANSWER]
        if _BOX.search(rest.partition("\n")[0]):
            # The box says it.
            continue
        if boxes:
            yield ", ".join(boxes)
            boxes = []
        yield "" if _DENIED_BEFORE.search(text[max(0, hit.start() - 40) : hit.start()]) else _sentence(rest)
    if boxes:
        yield ", ".join(boxes)


def _sentence(rest: str) -> str:
    """Return the formula that a statement begins with: up to the end of the sentence, without marks around it."""
    rest = _LEADING.sub("", rest.lstrip(), count=1) if _LEADING.match(rest.lstrip()) else rest.lstrip()
    if (maths := _MATHS.match(rest)) and not re.match(
        r"[ \t]*[^\s.,;!)*]", rest[maths.end() :].partition("\n")[0] or "."
    ):
        return _inner(maths)
    said = _REASON.sub("", _SENTENCE.split(rest, maxsplit=1)[0]).strip().strip("*_`").strip()
    if (maths := _MATHS.fullmatch(said)) is not None:
        return _inner(maths)
    return said


def _inner(maths: "re.Match[str]") -> str:
    return next(part for part in maths.groups() if part is not None).strip()


def _concluded(text: str) -> str:
    """Return what a reply without a statement comes to: all of it, or the formula that ends its last line."""
    line = text.strip().rpartition("\n")[2].strip().strip("*_`").strip()
    if "\n" not in text.strip() and len(_MATHS.findall(line)) == 1 and (whole := _MATHS.fullmatch(line.rstrip("."))):
        return _inner(whole)
    found = list(_MATHS.finditer(line))
    if found:
        before = line[: found[-1].start()]
        ends = re.fullmatch(r"[\s.!*]*", line[found[-1].end() :]) is not None
        return _inner(found[-1]) if ends and not _HEDGED.search(_MATHS.sub(" ", before)) else ""
    if len(line) <= _MOST_LINE and not _HEDGED.search(line):
        total = _TOTAL.fullmatch(line)
        return total[1] if total else line
    return line if text.strip().count("\n") == 0 else ""


def _braced(text: str, start: int) -> str:
    """Return the text from `start` to the brace that closes; empty without one."""
    depth = 1
    for place in range(start, min(len(text), start + _MOST_ANSWER)):
        letter = text[place]
        if letter == "\\" or (place and text[place - 1] == "\\" and letter in "{}"):
            continue
        depth += (letter == "{") - (letter == "}")
        if depth == 0:
            return text[start:place]
    return ""


def _unboxed(text: str) -> str:
    """Return what is in the box, if a text is one, or the last box in it."""
    stated = [text[hit.end() :] for hit in re.finditer(r"\\(?:boxed|fbox)\s?\{", text)]
    return _braced(stated[-1], 0).strip() if stated else text.strip()


class MathGrader(RuleGrader[MathConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[MathConfig]] = MathConfig
    Rule = MathRule
    slow = True

    def lacking(self) -> str:
        """Return that sympy is not installed."""
        return NO_SYMPY if _lacks_sympy() else ""


def _lacks_sympy() -> bool:
    return importlib.util.find_spec("sympy") is None
