"""The process from which `tests/forked.py` has Python programs forked: all of mesocosm and what it needs is imported.

It only imports and never runs anything, has one thread, and each program gets what a new process would have: its own
arguments, variables, directory, streams, process group, `sys.path` and `__main__`.
"""

import contextlib
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import socket
import struct
import sys
import time
import warnings
from collections.abc import Callable, ItemsView
from pathlib import Path
from types import ModuleType
from typing import Any

START_VARIABLES = ("PYTHON", "LC_", "LD_", "LANG", "TZ")
"""How the names of variables begin that Python and the C library read before the first line of a program."""
FORKED = "forked"
"""The name in `/proc` of a program that was forked."""
ABOVE = 512
"""Descriptors are moved there while those of a program take their places."""


class WatchedVariables(os._Environ[str]):
    """The variables of this process; `names` are those that an import has read."""

    names: set[str]

    def __getitem__(self, name: str) -> str:
        type(self).names.add(name)
        return super().__getitem__(name)

    def items(self) -> ItemsView[str, str]:
        """Return a copy: who takes all (wsgiref, for CGI) has none in mind."""
        return {name: super(WatchedVariables, self).__getitem__(name) for name in self}.items()


def preload() -> set[str]:
    """Import all of mesocosm, and return the names of the variables that were read meanwhile."""
    import mesocosm

    WatchedVariables.names = set()
    plain, filters = type(os.environ), list(warnings.filters)
    os.environ.__class__ = WatchedVariables
    found = (module.name for module in pkgutil.walk_packages(mesocosm.__path__, "mesocosm."))
    for name in found:
        if name.endswith("__main__"):
            continue
        # Adapters of packages that are not installed say so.
        with contextlib.suppress(ImportError, AttributeError):
            importlib.import_module(name)
    os.environ.__class__ = plain
    # sympy adds one when it is imported, and a new process has not imported it.
    warnings.filters = filters
    # `sysconfig` keeps where a user's own packages would be installed.
    return WatchedVariables.names - {"HOME"}


def receive(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Return what is asked for, and the descriptors that came along."""
    head, descriptors, _, _ = socket.recv_fds(connection, 4, 64)
    (length,) = struct.unpack("!I", head)
    with connection.makefile("rb") as file:
        return json.loads(file.read(length)), descriptors


def serve(listener: socket.socket) -> dict[str, Any]:
    """Serve requests until the other side ends. Returns the request, and only in the process that has to run it."""
    server = os.getpid()
    while True:
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        # Standard input is at its end when the process that started this one is.
        if sys.stdin in select.select([listener, sys.stdin], [], [])[0]:
            os._exit(0)
        connection = listener.accept()[0]
        if os.fork():
            connection.close()
            continue
        listener.close()
        request, descriptors = receive(connection)
        child = os.fork()
        if not child:
            break
        if not request["adopter"]:
            _, status = os.waitpid(child, 0)
            with contextlib.suppress(OSError):
                connection.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    if request["adopter"]:
        between = {os.getppid(), server}
        while (parent := os.getppid()) != request["adopter"]:
            if parent not in between:
                os._exit(125)
            os.sched_yield()
    prepare(request, descriptors, connection)
    return request


def prepare(request: dict[str, Any], descriptors: list[int], connection: socket.socket) -> None:
    """Make this process what a new one would be."""
    if request["session"]:
        os.setsid()
    elif request["group"] >= 0:
        os.setpgid(0, request["group"])
    # Its command line stays that of this program.
    Path("/proc/self/comm").write_text(FORKED)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["variables"])
    time.tzset()
    numbers = request["descriptors"]
    moved = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, ABOVE) for descriptor in descriptors]
    answer = fcntl.fcntl(connection, fcntl.F_DUPFD_CLOEXEC, ABOVE)
    connection.close()
    os.closerange(0, ABOVE)
    for number, descriptor in zip(numbers, moved, strict=True):
        os.dup2(descriptor, number)
    if request["adopter"]:
        os.write(answer, f"{os.getpid()}\n".encode())
    os.closerange(ABOVE, max(*moved, answer) + 1)


def open_streams() -> None:
    """Open the standard streams as Python does at its start."""
    unbuffered: bool = sys.__dict__["stdout"].write_through
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        try:
            raw: Any = open(  # noqa: SIM115
                number, "wb" if number else "rb", buffering=0 if number and unbuffered else -1, closefd=False
            )
        except OSError:
            stream = None
        else:
            stream = io.TextIOWrapper(
                raw,
                old.encoding,
                old.errors,
                write_through=bool(number) and unbuffered,
                line_buffering=not unbuffered and (number == 2 or raw.isatty()),
            )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def program_of(request: dict[str, Any], path: list[str]) -> Callable[[], object]:
    """Return what runs the program as `__main__`, which has nothing in it as yet."""
    words: list[str] = request["words"]
    sys.orig_argv[:] = words
    main = ModuleType("__main__")
    main.__dict__.update({name: globals()[name] for name in ("__builtins__", "__loader__")})
    if "__annotations__" in globals():
        main.__annotations__ = {}
    sys.modules["__main__"] = main
    importlib.invalidate_caches()
    safe = words[1] == "-P"
    kind, *arguments = words[1 + safe :]
    if kind == "-m":
        sys.path[:] = [*([] if safe else [str(Path.cwd())]), *path]
        sys.argv[:] = arguments
        # What `python -m` itself calls.
        return lambda: runpy._run_module_as_main(arguments[0])  # type: ignore[attr-defined]
    if kind == "-c":
        sys.path[:] = [*([] if safe else [""]), *path]
        sys.argv[:] = ["-c", *arguments[1:]]
        name, source = "<string>", arguments[0].encode()
    else:
        sys.path[:] = [*([] if safe else [str(Path(kind).resolve().parent)]), *path]
        sys.argv[:] = [kind, *arguments]
        main.__dict__.update(__file__=kind, __cached__=None)
        name = kind
        source = Path(kind).read_bytes()
    return lambda: exec(compile(source, name, "exec"), main.__dict__)


def main() -> Callable[[], object]:
    """Say what must be the same for a program to be forked, serve, and return what a fork has to run."""
    # Beside this file are folders of tests, with the names of packages.
    del sys.path[0]
    path = list(sys.path)
    at_start = dict(os.environ)
    names = preload()
    assert len(list(Path("/proc/self/task").iterdir())) == 1, (
        "what is imported starts threads, which a fork would not have"
    )
    listener = socket.socket(fileno=int(sys.argv[1]))
    print(json.dumps({"names": sorted(names), "prefixes": START_VARIABLES, "variables": at_start}), flush=True)
    # Collections would touch, and so copy, all that is imported.
    gc.collect()
    gc.freeze()
    request = serve(listener)
    open_streams()
    return program_of(request, path)


if __name__ == "__main__":
    main()()
