r"""Users' regular expressions with a time limit: matched in a worker process, which is killed if it takes too long.

Python's expressions have no limit, and one like `(a+)+$` takes practically forever on some texts of 40 characters.
Harmless expressions cannot be recognised reliably, so all are treated the same way.
"""

import atexit
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from typing import Any

SECONDS = 1.0
"""CPU seconds that one match may take; wall-clock time would make matches fail on a busy machine."""
_WALL_FACTOR = 30
"""Wall-clock limit as a multiple of SECONDS, for systems that cannot limit CPU time."""
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
    with _turns:
        worker = _take()
        reply = _ask(worker, line)
        if reply is None:
            raise TooSlow(f"the expression {pattern!r:.80} took longer than {SECONDS:g} s on {len(text):,} characters")
        _give(worker)
    hits = json.loads(reply)
    assert isinstance(hits, list)
    return hits


def _ask(worker: "subprocess.Popen[bytes]", line: bytes) -> bytes | None:
    """Return the worker's reply, or None if it was killed or died."""
    assert worker.stdin is not None
    assert worker.stdout is not None
    watch = threading.Timer(_WALL_FACTOR * SECONDS, worker.kill)
    watch.daemon = True
    watch.start()
    reply = b""
    try:
        with contextlib.suppress(OSError):
            worker.stdin.write(line)
            worker.stdin.flush()
            reply = worker.stdout.readline()
    finally:
        watch.cancel()
        watch.join()
        if not reply.endswith(b"\n") or worker.poll() is not None:
            _end(worker)
    return reply if reply.endswith(b"\n") else None


_idle: list["subprocess.Popen[bytes]"] = []
_turns = threading.BoundedSemaphore(2 + (os.cpu_count() or 1))


def _take() -> "subprocess.Popen[bytes]":
    """Return an idle worker, or a new one."""
    with contextlib.suppress(IndexError):
        while True:
            worker = _idle.pop()
            if worker.poll() is None:
                return worker
            _end(worker)
    environment = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
    pipe: Any = subprocess.PIPE
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _WORKER]
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment)  # noqa: S603


def _give(worker: "subprocess.Popen[bytes]") -> None:
    if worker.poll() is None:
        _idle.append(worker)


def _end(worker: "subprocess.Popen[bytes]") -> None:
    worker.kill()
    for stream in (worker.stdin, worker.stdout):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()
    worker.wait()


@atexit.register
def _end_all() -> None:
    while _idle:
        _end(_idle.pop())


if hasattr(os, "register_at_fork"):
    # A child process must not use the pipes of its parent's workers.
    os.register_at_fork(after_in_child=_idle.clear)
