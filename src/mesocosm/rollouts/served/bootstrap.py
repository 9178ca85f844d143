"""Runs the entry file of a rollout as a server. A program of its own; standard library only, for any Python >= 3.11.

    python bootstrap.py FOLDER ENTRYPOINT SHIM PACKAGE PREFIX WATCH

The folder of the rollout is first on the module path. SHIM is a directory that stands in for `osmosis_ai` where that is
not installed; PACKAGE is our own package, importable by its name and without what is installed beside it. An entry file
that starts its server is run as a program; of another one the workflow is found and served.

A thread looks at the main thread. Which try has kept its event loop from going on, and where, is told in the file
WATCH: {"now": {"name", "seconds", "where"} | null, "total": {name: {"seconds", "where"}}}. The names of tries begin
with PREFIX.
"""

import sys

if __name__ == "__main__":
    # This directory holds modules of ours whose names a rollout may use for its own.
    del sys.path[0]

import ast
import importlib
import importlib.machinery
import importlib.util
import json
import logging
import os
import runpy
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

LOOK_S = 0.05
TOLD_S = 0.1
"""A shorter time on the event loop is ordinary work."""

_FRAMES = 200
_LAUNCHING = ("<frozen ", importlib.__file__, str(Path(__file__).parent))
"""Files whose frames only say how an entry file was begun."""


class OwnPackage:
    """Finds exactly one package, by where it lies. Implements importlib.abc.MetaPathFinder."""

    def __init__(self, package: Path) -> None:
        self._name = package.name
        self._root = str(package.parent)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return where the package is."""
        del path, target
        return importlib.machinery.PathFinder.find_spec(name, [self._root]) if name == self._name else None


class Watch:
    """Looks at what the main thread does, in a thread of its own."""

    def __init__(self, folder: Path, prefix: str, file: Path) -> None:
        self._folder = str(folder) + os.sep
        self._prefix = prefix
        self._file = file
        self._main = threading.main_thread().ident or 0
        self._total: dict[str, dict[str, Any]] = {}
        self._now: dict[str, Any] | None = None
        self._dirty = False

    def start(self) -> None:
        """Look until the program ends."""
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def _run(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(LOOK_S)
            now = time.monotonic()
            # A look at a running program may meet anything; the next one comes.
            with suppress(Exception):
                self._look(now - last)
            last = now

    def _look(self, passed: float) -> None:
        frame = sys._current_frames().get(self._main)  # noqa: SLF001 -- the only way to see another thread
        name = "" if frame is None or frame.f_code.co_filename.endswith("selectors.py") else self._whose(frame)
        where = self._where(frame) if name else ""
        if not where:
            if self._now is not None:
                self._now, self._dirty = None, True
        elif self._now is None or self._now["name"] != name:
            self._now = {"name": name, "seconds": 0.0, "where": where}
        else:
            self._count(name, where, passed)
        if self._dirty:
            self._tell()

    def _count(self, name: str, where: str, passed: float) -> None:
        assert self._now is not None
        self._now["seconds"] += passed
        self._now["where"] = where
        if self._now["seconds"] >= TOLD_S:
            total = self._total.setdefault(name, {"seconds": self._now["seconds"] - passed, "where": ""})
            total["seconds"] += passed
            total["where"] = self._now["where"]
            self._dirty = True

    def _whose(self, frame: FrameType | None) -> str:
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
            # Never getattr: that could run code of the rollout.
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

    def _where(self, frame: FrameType | None) -> str:
        while frame is not None:
            file = frame.f_code.co_filename
            # What has no frame of the rollout but that of its entry file is the server's own work.
            ours = file.startswith(self._folder) and os.sep + "site-packages" + os.sep not in file
            if ours and frame.f_code.co_name != "<module>":
                return f"{file.removeprefix(self._folder)}:{frame.f_lineno} in {frame.f_code.co_name}"
            frame = frame.f_back
        return ""

    def _tell(self) -> None:
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps({"now": self._now, "total": self._total}))
        beside.replace(self._file)
        self._dirty = False


def hush() -> None:
    """Keep out of the log what says the same of every try: its request, its start, each call of a recorded model.

    Warnings and errors stay, and so does what the rollout itself logs or asks these libraries to log.
    """
    logging.getLogger("uvicorn.access").addFilter(_foreign)
    logging.getLogger("uvicorn.error").addFilter(_serious)
    for client in ("httpx", "httpx2"):
        logging.getLogger(client).setLevel(logging.WARNING)


def _foreign(record: logging.LogRecord) -> bool:
    path = str(record.args[2]) if isinstance(record.args, tuple) and len(record.args) > 2 else ""
    return not path.startswith(("/rollout", "/health"))


def _serious(record: logging.LogRecord) -> bool:
    return record.levelno > logging.INFO


def serves_itself(source: str) -> bool:
    """Return whether a file starts a server when it is run as a program."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        # Running it shows the author where the mistake is.
        return True
    return any(_guard(node) or _starts(node) for node in tree.body)


def _guard(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)


def _starts(node: ast.stmt) -> bool:
    """Return whether a statement outside all functions calls uvicorn.run, or a server's run or serve."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            name = ast.unparse(part.func)
            if name in {"uvicorn.run", "asyncio.run"} or name.endswith(".serve_forever"):
                return True
    return False


def serve(entry: Path) -> None:
    """Find the workflow, or the finished app, in an entry file, and serve it at the port of the environment."""
    module = importlib.import_module(entry.stem)

    import uvicorn

    from mesocosm.rollouts.served.entry import find_app

    uvicorn.run(find_app(module), host="127.0.0.1", port=int(os.environ["_OSMOSIS_ROLLOUT_PORT"]), log_level="warning")


def main(folder: Path, entrypoint: str, shim: str, package: Path, watch: Watch) -> None:
    """Set up the module path and run the entry file."""
    entry = folder / entrypoint
    sys.path.insert(0, str(folder))
    if entry.parent != folder:
        sys.path.insert(0, str(entry.parent))
    if not _importable(package.name):
        sys.meta_path.append(OwnPackage(package))
    if not _importable("osmosis_ai"):
        sys.path.append(shim)
    hush()
    watch.start()
    sys.argv = [str(entry)]
    if serves_itself(entry.read_text(encoding="utf-8-sig")):
        runpy.run_path(str(entry), run_name="__main__")
    else:
        serve(entry)


def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error as Python does, from the first frame of the rollout on."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_LAUNCHING):
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


if __name__ == "__main__":
    _folder, _entrypoint, _shim, _package, _prefix, _watch = sys.argv[1:]
    sys.excepthook = show
    main(Path(_folder), _entrypoint, _shim, Path(_package), Watch(Path(_folder), _prefix, Path(_watch)))
