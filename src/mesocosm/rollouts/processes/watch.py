"""Find the row that blocks the event loop of a rollout's process. Standard library only."""

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

LOOK_S = 0.05
NOTED_S = 0.1
"""Seconds below which time on the event loop is ordinary work."""

IMPORT_S = 20.0
"""Seconds below which an import is ordinary work too.

It occupies the event loop once in a process; a process for each row would import once for each row.
"""

_FRAMES = 200


class LoopWatch:
    """Watches the main thread from another thread, and writes to a file which row occupies the event loop.

    The file is JSON: {"now": {"name", "seconds", "where"} | null, "total": {name: {"seconds", "where"}}}. `row_of` may
    be set to a function that returns the current row; without it, local variables are searched for names of rows, which
    begin with `prefix`.
    """

    def __init__(self, folder: Path, prefix: str, file: Path) -> None:
        self.row_of: Callable[[], str] | None = None
        self._folder = str(folder) + os.sep
        self._prefix = prefix
        self._file = file
        self._main = threading.main_thread().ident or 0
        self._total: dict[str, dict[str, Any]] = {}
        self._now: dict[str, Any] | None = None
        self._dirty = False
        self._importing = 0.0

    def start(self) -> None:
        """Start watching, until the program ends."""
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def _run(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(LOOK_S)
            now = time.monotonic()
            # Inspecting a running program may raise anything; skip this look.
            with suppress(Exception):
                self._look(now - last)
            last = now

    def _look(self, passed: float) -> None:
        frame = sys._current_frames().get(self._main)  # noqa: SLF001 -- the only way to see another thread
        if self.row_of is not None:
            name = self.row_of()
            where = (self._where(frame) or self._innermost(frame)) if name else ""
        else:
            idle = frame is None or frame.f_code.co_filename.endswith("selectors.py")
            name = "" if idle else self._row_in(frame)
            where = self._where(frame) if name else ""
        self._importing = self._importing + passed if _imports(frame) else 0.0
        if not where or 0.0 < self._importing < IMPORT_S:
            if self._now is not None:
                self._now, self._dirty = None, True
        elif self._now is None or self._now["name"] != name:
            self._now = {"name": name, "seconds": 0.0, "where": where}
        else:
            self._count(name, where, passed)
        if self._dirty:
            self._write()

    def _count(self, name: str, where: str, passed: float) -> None:
        assert self._now is not None
        self._now["seconds"] += passed
        self._now["where"] = where
        if self._now["seconds"] >= NOTED_S:
            total = self._total.setdefault(name, {"seconds": self._now["seconds"] - passed, "where": ""})
            total["seconds"] += passed
            total["where"] = self._now["where"]
            self._dirty = True

    def _row_in(self, frame: FrameType | None) -> str:
        for _ in range(_FRAMES):
            if frame is None:
                break
            for value in list(frame.f_locals.values()):
                if name := self._name(value):
                    return name
            frame = frame.f_back
        return ""

    def _name(self, value: Any) -> str:
        if type(value) is str:
            return value if self._is_name(value) else ""
        try:
            # Never getattr: it could run code of the rollout.
            fields = value if type(value) is dict else object.__getattribute__(value, "__dict__")
        except AttributeError:
            return ""
        if type(fields) is dict:
            for key in ("rollout_id", "id"):
                found = fields.get(key)
                if type(found) is str and self._is_name(found):
                    return found
        return ""

    def _is_name(self, text: str) -> bool:
        return text.startswith(self._prefix) and text[len(self._prefix) :].isdigit()

    def _innermost(self, frame: FrameType | None) -> str:
        if frame is None:
            return ""
        return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} in {frame.f_code.co_name}"

    def _where(self, frame: FrameType | None) -> str:
        while frame is not None:
            file = frame.f_code.co_filename
            # Frames of the rollout's entry file alone mean the server's own work.
            ours = file.startswith(self._folder) and os.sep + "site-packages" + os.sep not in file
            if ours and frame.f_code.co_name != "<module>":
                return f"{file.removeprefix(self._folder)}:{frame.f_lineno} in {frame.f_code.co_name}"
            frame = frame.f_back
        return ""

    def _write(self) -> None:
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps({"now": self._now, "total": self._total}))
        beside.replace(self._file)
        self._dirty = False


def _imports(frame: FrameType | None) -> bool:
    """Return whether a module is being imported."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


started: LoopWatch | None = None
"""The watch of this process, if it is a rollout's."""


def start(folder: Path, prefix: str, file: Path) -> None:
    """Start watching the main thread of this process, until it ends."""
    global started  # noqa: PLW0603 -- one for each process
    started = LoopWatch(folder, prefix, file)
    started.start()
