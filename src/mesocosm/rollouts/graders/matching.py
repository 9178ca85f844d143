r"""Users' regular expressions with a time limit: matched in a worker process, which is killed if it takes too long.

Python's expressions have no limit, and one like `(a+)+$` takes practically forever on some texts of 40 characters.
Harmless expressions cannot be recognised reliably, so all are treated the same way.
"""

import json
import re
import sys

from mesocosm.rollouts.graders.workers import LineWorkers

SECONDS = 1.0
"""CPU seconds that one match may take; wall-clock time would make matches fail on a busy machine."""
_MOST_FOUND = 1000
_WORKER = """
import json, re, signal, sys
limit = getattr(signal, "setitimer", lambda *_: None)
clock = getattr(signal, "ITIMER_VIRTUAL", 0)
for line in sys.stdin.buffer:
    asked = json.loads(line)
    limit(clock, asked["seconds"])
    pattern = re.compile(asked["pattern"], asked["flags"])
    whole = pattern.fullmatch(asked["text"])
    hits = ([whole] if whole else []) if asked["full"] else pattern.finditer(asked["text"])
    group = asked["group"] if asked["group"] is not None else min(pattern.groups, 1)
    found = []
    for hit in hits:
        found.append(hit[group] or "")
        if len(found) == asked["most"]:
            break
    limit(clock, 0)
    sys.stdout.buffer.write(json.dumps(found).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


_WORKERS = LineWorkers([sys.executable, "-I", "-S", "-X", "utf8", "-c", _WORKER], 30 * SECONDS)


class TooSlow(Exception):
    """An expression takes too long on a text."""


def check_pattern(pattern: str, flags: int = 0) -> str:
    """Return `pattern` unchanged. Raises ValueError if it is malformed."""
    try:
        re.compile(pattern, flags)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{pattern!r:.80} is not a regular expression: {error}") from error
    return pattern


def found(pattern: str, text: str, *, flags: int = 0, full: bool = False, group: int | str | None = None) -> list[str]:
    """Return what a group of `pattern` matches in `text`, in order, at most 1,000 times; with `full`, match all of it.

    By default the first group counts, or the whole match without groups. Raises TooSlow after `SECONDS`.
    """
    asked = {"pattern": pattern, "text": text, "flags": flags, "full": full, "group": group}
    line = json.dumps({**asked, "most": _MOST_FOUND, "seconds": SECONDS}).encode() + b"\n"
    reply = _WORKERS.ask(line)
    if reply is None:
        raise TooSlow(f"the expression {pattern!r:.80} took longer than {SECONDS:g} s on {len(text):,} characters")
    hits = json.loads(reply)
    assert isinstance(hits, list)
    return hits
