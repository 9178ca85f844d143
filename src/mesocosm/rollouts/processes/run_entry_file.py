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
import inspect
import logging
import os
import runpy
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

OURS = "mesocosm.rollouts.sdk"
FAMILIES = ("osmosis_ai.rollout", OURS)
"""The SDKs that an entry file may use: the published package, and our own, which follows it."""

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


class EntryError(Exception):
    """An entry file defines no rollout, or more than one."""


def find_rollout(module: ModuleType) -> Any:
    """Return the app of a loaded entry file, else its backend, else a backend for its workflow class.

    For an app of our own SDK, return its backend. Raises EntryError.
    """
    names = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    apps = _distinct({name: value for name, value in names.items() if _is_app(value)})
    if len(apps) > 1:
        raise EntryError(f"{_file(module)} makes {len(apps)} apps ({', '.join(apps)}); keep one")
    if apps:
        app = next(iter(apps.values()))
        return getattr(app.state, "rollout_backend", app)
    backends = _instances(names, "ExecutionBackend")
    if len(backends) > 1:
        raise EntryError(
            f"{_file(module)} makes {len(backends)} backends ({', '.join(backends)}); keep one, or move the others to "
            "another file"
        )
    return next(iter(backends.values()), None) or _new_backend(module, names)


def family_of(cls: type, kind: str = "ExecutionBackend") -> str:
    """Return the SDK that provides a class's base of this kind, or "" if there is none."""
    for base in cls.__mro__:
        if base.__name__ == kind:
            for family in FAMILIES:
                if base.__module__.startswith(family):
                    return family
    return ""


def _new_backend(module: ModuleType, names: Mapping[str, Any]) -> Any:
    workflow = _class(module, names, "AgentWorkflow", "workflow")
    if workflow is None:
        raise EntryError(
            f"{_file(module)} has no rollout: there is neither a LocalBackend nor a class derived from AgentWorkflow "
            f"with a run method; found: {', '.join(sorted(names)) or 'nothing'}"
        )
    parts = {
        "grader": _class(module, names, "Grader", "grader"),
        "workflow_config": _only(module, _instances(names, "AgentWorkflowConfig"), "workflow_config"),
        "grader_config": _only(module, _instances(names, "GraderConfig"), "grader_config"),
    }
    backend: Any = importlib.import_module(f"{family_of(workflow, 'AgentWorkflow')}.backend").LocalBackend
    return backend(workflow=workflow, **{name: part for name, part in parts.items() if part is not None})


def _class(module: ModuleType, names: Mapping[str, Any], kind: str, noun: str) -> type | None:
    """Return the one class of a kind that is not a base of another; of several, the one defined in this file."""
    classes = {
        value
        for value in names.values()
        if isinstance(value, type)
        and family_of(value, kind)
        and not inspect.isabstract(value)
        and not value.__module__.startswith(FAMILIES)
    }
    leaves = [one for one in classes if not any(other is not one and issubclass(other, one) for other in classes)]
    own = [one for one in leaves if one.__module__ == module.__name__]
    chosen = own if len(leaves) > 1 and own else leaves
    if len(chosen) > 1:
        found = ", ".join(sorted(one.__name__ for one in chosen))
        raise EntryError(
            f"{_file(module)} has several {noun} classes ({found}); say which one: backend = LocalBackend({noun}=…)"
        )
    return chosen[0] if chosen else None


def _only(module: ModuleType, values: Mapping[str, Any], noun: str) -> Any:
    if len(values) > 1:
        raise EntryError(
            f"{_file(module)} has several configurations ({', '.join(values)}); say which one: "
            f"backend = LocalBackend(workflow=…, {noun}=…)"
        )
    return next(iter(values.values()), None)


def _instances(names: Mapping[str, Any], kind: str) -> dict[str, Any]:
    return _distinct({name: value for name, value in names.items() if family_of(type(value), kind)})


def _distinct(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return each object once, by its first name."""
    found: dict[int, tuple[str, Any]] = {}
    for name, value in values.items():
        found.setdefault(id(value), (name, value))
    return dict(found.values())


def _is_app(value: Any) -> bool:
    return type(value).__name__ in {"FastAPI", "Starlette"}


def _file(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None) or module.__name__)


def serve(entry: Path) -> None:
    """Find the workflow, the backend or the app in an entry file, and serve it."""
    found = find_rollout(importlib.import_module(entry.stem))
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
    from mesocosm.rollouts.certificates import late_certificates
    from mesocosm.rollouts.output import capture
    from mesocosm.rollouts.processes import watch as watching
    from mesocosm.rollouts.unclosed import safe_closing

    os.set_inheritable(socket, False)  # noqa: FBT003 -- takes it by position only
    os.environ["_MESOCOSM_WORKER_SOCKET"] = str(socket)
    capture.begin()
    late_certificates.begin()
    safe_closing.begin()
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
