"""Run the entry file of a rollout as a server. A separate program: standard library only, for any Python >= 3.11.

    python run_entry_file.py FOLDER ENTRYPOINT SHIM PACKAGE PREFIX WATCH SOCKET

The folder of the rollout is first on the module path. SHIM is a directory that replaces `osmosis_ai` if that is not
installed; PACKAGE is our own package, importable by its name but without the packages installed beside it. An entry
file that starts its own server is run as a program; otherwise its workflow is found and served.

A rollout of our own SDK gets its rows over SOCKET, an inherited socket, even if the entry file starts a server. Any
other server answers HTTP on its port. WATCH is the file of `watch.py`; the names of rows begin with PREFIX.
"""

import sys

if __name__ == "__main__":
    # This directory contains our modules, which would shadow a rollout's modules of the same names.
    del sys.path[0]

import ast
import importlib
import importlib.machinery
import importlib.util
import logging
import os
import runpy
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any

_LAUNCHING = ("<frozen ", importlib.__file__, str(Path(__file__).parent))
"""Files whose frames only show how the entry file was started."""


class OwnPackage:
    """Finds exactly one package, by its path. Implements importlib.abc.MetaPathFinder."""

    def __init__(self, package: Path) -> None:
        self._name = package.name
        self._root = str(package.parent)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of the package, or None for other names."""
        del path, target
        return importlib.machinery.PathFinder.find_spec(name, [self._root]) if name == self._name else None


def hush() -> None:
    """Keep lines out of the log that repeat for every attempt: its request, its start, each recorded model call.

    Warnings and errors stay, and so does what the rollout itself logs or enables in these libraries.
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
    """Return whether a file starts a server when run as a program."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        # Running it shows the author the error.
        return True
    return any(_guard(node) or _starts(node) for node in tree.body)


def _guard(node: ast.stmt) -> bool:
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)


def _starts(node: ast.stmt) -> bool:
    """Return whether a statement outside of functions and classes starts a server or an event loop."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return False
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            name = ast.unparse(part.func)
            if name in {"uvicorn.run", "asyncio.run"} or name.endswith(".serve_forever"):
                return True
    return False


def serve(entry: Path) -> None:
    """Find the workflow, the backend or the app in an entry file, and serve it."""
    module = importlib.import_module(entry.stem)

    from mesocosm.rollouts.processes.entry import OURS, family_of, find_rollout

    found = find_rollout(module)
    family = family_of(type(found))
    if family == OURS:
        from mesocosm.rollouts.sdk import worker

        worker.serve(found)
        return

    import uvicorn

    app = importlib.import_module(f"{family}.server").create_rollout_server(backend=found) if family else found
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ["_OSMOSIS_ROLLOUT_PORT"]), log_level="warning")


def main(folder: Path, entrypoint: str, shim: str, package: Path, prefix: str, watch: Path, socket: int) -> None:
    """Set up the module path and run the entry file."""
    entry = folder / entrypoint
    if not _importable(package.name):
        sys.meta_path.append(OwnPackage(package))
    from mesocosm.rollouts.output import capture
    from mesocosm.rollouts.processes import watch as watching

    os.set_inheritable(socket, False)  # noqa: FBT003 -- takes it by position only
    os.environ["_MESOCOSM_WORKER_SOCKET"] = str(socket)
    capture.begin()
    watching.start(folder, prefix, watch)
    sys.path.insert(0, str(folder))
    if entry.parent != folder:
        sys.path.insert(0, str(entry.parent))
    if not _importable("osmosis_ai"):
        sys.path.append(shim)
    hush()
    sys.argv = [str(entry)]
    if serves_itself(entry.read_text(encoding="utf-8-sig")):
        runpy.run_path(str(entry), run_name="__main__")
    else:
        serve(entry)


def show(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Print an error as Python does, starting at the first frame of the rollout."""
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(_LAUNCHING):
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


def _importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


if __name__ == "__main__":
    _folder, _entrypoint, _shim, _package, _prefix, _watch, _socket = sys.argv[1:]
    sys.excepthook = show
    main(Path(_folder), _entrypoint, _shim, Path(_package), _prefix, Path(_watch), int(_socket))
