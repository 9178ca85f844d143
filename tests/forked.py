"""Python programs that are forked from a process which has imported mesocosm already, instead of started anew.

Importing takes most of the processor time of a command line. What a test, or what it runs in its own process, starts
with this Python as `-m MODULE`, `-c CODE` or a script, also after `-P`, is a real child of that test all the same: with
its own process id, streams, signals, group and exit status. What could tell the difference (variables that Python or an
import reads at the start, options of Python, functions that run before the program) is started anew. See
`tests/fork_server.py`.
"""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

_PR_SET_CHILD_SUBREAPER = 36
_SIGNALS = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTERM)
SCRIPTS = Path(sys.executable).parent

STUB = """#!{python} -IS
import json, os, signal, socket, struct, sys
sys.path.clear()
with open({known!r}) as file:
    known = json.load(file)
before, prefixes = known["variables"], tuple(known["prefixes"])
names = {{*known["names"], *(name for name in {{**os.environ, **before}} if name.startswith(prefixes))}}
same = all(os.environ.get(name) == before.get(name) for name in names)
words = {words!r} + sys.argv[1:]
kind = next(iter(words[1:]), "-")
# No process can join a group of another session.
elsewhere = os.getsid(0) != known["session"]
if not same or elsewhere or kind[:1] == "-" and kind not in ("-m", "-c"):
    os.execv(words[0], words)
request = {{"words": words, "cwd": os.getcwd(), "variables": dict(os.environ), "session": False, "group": os.getpgid(0),
           "descriptors": [0, 1, 2], "adopter": 0}}
with socket.socket(socket.AF_UNIX) as connection:
    connection.connect({address!r})
    text = json.dumps(request).encode()
    socket.send_fds(connection, [struct.pack("!I", len(text))], [0, 1, 2])
    connection.sendall(text)
    code = int(connection.makefile().read())
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
"""
"""A program that has another one forked: for shells."""


class ForkServer:
    """The process that is forked, started when it is needed first."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._address = str(folder / "socket")
        self._ignored = _ignored()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(self._address)
            listener.listen(64)
            self._process = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("fork_server.py")), str(listener.fileno())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                pass_fds=[listener.fileno()],
            )
        assert self._process.stdout is not None
        known = json.loads(self._process.stdout.readline())
        self._names = set(known["names"])
        self._prefixes = tuple(known["prefixes"])
        self._variables: dict[str, str] = known["variables"]
        self._one_at_a_time = threading.Lock()
        self.scripts = self._write_scripts(known)

    def _write_scripts(self, what: dict[str, Any]) -> Path:
        scripts, known = self._folder / "bin", self._folder / "known.json"
        scripts.mkdir()
        known.write_text(json.dumps({**what, "session": os.getsid(self._process.pid)}))
        programs = {"python": [sys.executable], "mesocosm": [sys.executable, str(SCRIPTS / "mesocosm")]}
        for name, words in programs.items():
            stub = scripts / name
            stub.write_text(STUB.format(python=sys.executable, known=str(known), words=words, address=self._address))
            stub.chmod(0o755)
        return scripts

    def can_fork(self, words: Sequence[str], variables: Mapping[str, str]) -> bool:
        """Return whether a program would be the same as one that is started anew."""
        kind = next(iter(words[1 + (words[1:2] == ["-P"]) :]), "-")
        if words[0] != sys.executable or (kind[:1] == "-" and kind not in ("-m", "-c")):
            return False
        if signal.pthread_sigmask(signal.SIG_BLOCK, ()) or _ignored() != self._ignored:
            return False
        names = self._names | {name for name in (*variables, *self._variables) if name.startswith(self._prefixes)}
        return all(variables.get(name) == self._variables.get(name) for name in names)

    def fork(
        self,
        words: Sequence[str],
        *,
        cwd: str,
        variables: Mapping[str, str],
        descriptors: Mapping[int, int],
        session: bool,
        group: int,
    ) -> int:
        """Fork a program that becomes a child of this process, and return its id. `descriptors`: its number: ours."""
        request = {
            "words": list(words),
            "cwd": cwd,
            "variables": dict(variables),
            "session": session,
            "group": group,
            "descriptors": list(descriptors),
            "adopter": os.getpid(),
        }
        text = json.dumps(request).encode()
        with self._one_at_a_time, _adopting(), socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self._address)
            socket.send_fds(connection, [struct.pack("!I", len(text))], list(descriptors.values()))
            connection.sendall(text)
            return int(connection.makefile().readline())

    def close(self) -> None:
        """End the process."""
        self._process.communicate()
        shutil.rmtree(self._folder)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Be the parent of processes whose own parent ends; only for a moment, because nothing else is waited for."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _ignored() -> list[signal.Signals]:
    return [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_IGN]


@contextlib.contextmanager
def forking(server: ForkServer) -> Iterator[None]:
    """Have `subprocess`, and with it asyncio, fork what can be forked.

    Blocks of several threads may overlap: what was there is put back by the last of them to end.
    """
    with _changing:
        _forking.append(server)
        if len(_forking) == 1:
            _patch.setattr(subprocess, "_fork_exec", _starter(server))
    try:
        yield
    finally:
        with _changing:
            _forking.pop()
            if not _forking:
                _patch.undo()


_changing = threading.Lock()
_forking: list[ForkServer] = []
_patch = pytest.MonkeyPatch()


def _starter(server: ForkServer) -> Callable[..., int]:
    fork_exec = subprocess._fork_exec  # type: ignore[attr-defined]

    def start(
        args: Sequence[Any],
        executables: Sequence[bytes],
        close_fds: bool,
        kept: Sequence[int],
        cwd: Any,
        environment: Sequence[bytes] | None,
        *more: Any,
    ) -> int:
        stdin, _, _, stdout, _, stderr, _, report, _, session, group, gid, gids, uid, umask, before, *_ = more
        words = [os.fsdecode(word) for word in args]
        variables = dict(os.environ)
        if environment is not None:
            variables = dict(os.fsdecode(line).split("=", 1) for line in environment)
        place = Path.cwd() if cwd is None else Path(os.fsdecode(cwd))
        plain = close_fds and umask < 0 and (gid, gids, uid, before) == (None,) * 4 and place.is_dir()
        if not plain or words[0] != os.fsdecode(executables[0]) or not server.can_fork(words, variables):
            return fork_exec(args, executables, close_fds, kept, cwd, environment, *more)  # type: ignore[no-any-return]
        streams = (number if ours < 0 else ours for number, ours in enumerate((stdin, stdout, stderr)))
        descriptors = dict(enumerate(streams)) | {number: number for number in kept if number != report}
        return server.fork(
            words, cwd=str(place), variables=variables, descriptors=descriptors, session=bool(session), group=group
        )

    return start
