"""Compare answers, a line of JSON for each: a separate program, because a formula can take forever.

A line of input has `answer`, `labels`, `tolerance`, `unfinished` and `seconds`; a line of output `right`, and `why`
not. A question that takes more than `seconds` of CPU time, or too much memory, ends the program. Nothing is evaluated
as Python, and sympy's own parsers are not used.
"""

import json
import re
import resource
import signal
import sys
from typing import Any

from mesocosm.rollouts.graders.formulas.equality import Comparison
from mesocosm.rollouts.graders.formulas.reading import WordAnswer, read
from mesocosm.rollouts.graders.formulas.tokens import REPLACED

_MEMORY = 1 << 30


def _text_key(text: str) -> str:
    for pattern, sign in REPLACED:
        text = pattern.sub(sign, text)
    text = re.sub(r"[$]|\\[()\[\]]|\\(?:text|mathrm)(?![a-zA-Z])", "", text)
    # White space between two words or numbers means something.
    return re.sub(r"(?<!\w)\s+|\s+(?!\w)", "", " ".join(text.split())).removesuffix(".")


def _letters(text: str) -> str:
    """Return an answer in words, without the marks around them; empty for anything else."""
    bare = re.sub(r"\\(?:text(?:bf|it|rm)?|mathrm|mathbf)\s*\{([^{}]*)\}|[$.!()]", r"\1", text).strip()
    return " ".join(bare.casefold().split()) if re.fullmatch(r"[^\W\d_]+(?:\s+[^\W\d_]+)*", bare) else ""


def verdict(asked: dict[str, Any]) -> dict[str, Any]:
    """Return whether an answer is one of the labels."""
    labels, unread = [], ""
    for text in asked["labels"]:
        try:
            labels.append((text, read(text)))
        except Exception as error:  # noqa: BLE001 -- of what makes no sense, sympy raises many things
            labels.append((text, None))
            unread = str(error)
    answer, comparison = asked["answer"], Comparison(asked["tolerance"], asked["unfinished"])
    if any(_text_key(answer) == _text_key(text) for text, _ in labels if _text_key(text)):
        return {"right": True, "why": ""}
    if any(isinstance(value, WordAnswer) and _letters(answer) == _letters(text) != "" for text, value in labels):
        return {"right": True, "why": ""}
    try:
        given = read(answer)
        right = any(value is not None and comparison.equal(given, value) for _, value in labels)
    except Exception as error:  # noqa: BLE001 -- of what makes no sense, sympy raises many things
        return {"right": False, "why": f"{answer[:100]!r} cannot be read: {str(error)[:200]}"}
    said = unread if all(value is None for _, value in labels) else comparison.why
    return {
        "right": right,
        "why": "" if right else f"{answer[:100]} is not {asked['labels'][0][:100]}" + (f": {said}" if said else ""),
    }


def main() -> None:
    """Answer questions until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    sys.setrecursionlimit(3000)
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        signal.setitimer(signal.ITIMER_VIRTUAL, asked["seconds"])
        found = verdict(asked)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        sys.stdout.buffer.write(json.dumps(found).encode() + b"\n")
        sys.stdout.buffer.flush()
