"""Run a command in the namespaces of another process. Runs on the host, by itself; standard library only.

    python -I -S enter.py PID FD

FD is a descriptor with a JSON object: `argv`, `env`, `cwd`, and perhaps `filter`, a file with a filter of system calls
in the form of seccomp(2). The command becomes root of the container: the one account of its user namespace.
"""

import ctypes
import json
import os
import sys
import warnings  # noqa: F401 -- `os` imports it later, when the files of the host are gone

_KEPT = {0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31}
"""Rights that root of a container has, as with docker."""
_PARENT_DEATH, _SECCOMP, _DROP_RIGHT, _NO_NEW_RIGHTS = 1, 22, 24, 38
_FILTER_MODE = 2
_NOT_FOUND, _NOT_EXECUTABLE = 127, 126


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def main() -> None:
    """Enter, execute the command, and exit with its code."""
    pid, number = map(int, sys.argv[1:3])
    with os.fdopen(number, encoding="utf-8") as file:
        wanted = json.load(file)
    rules = b""
    if wanted.get("filter"):
        with open(wanted["filter"], "rb") as file:  # noqa: PTH123 -- pathlib takes as long to import as all the rest
            rules = file.read()
    libc = ctypes.CDLL(None, use_errno=True)
    _join(libc, pid)
    child = os.fork()
    if child == 0:
        _become(libc, rules)
        _execute(wanted["argv"], wanted["env"], wanted["cwd"])
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(128 - code if code < 0 else code)


def _join(libc: ctypes.CDLL, pid: int) -> None:
    # Root of the host enters the user namespace last, because it owns the others; for anyone else the user namespace
    # gives the right to enter them.
    others = ["net", "pid", "ipc", "uts", "mnt"]
    names = [*others, "user"] if os.getuid() == 0 else ["user", *others]
    if os.getuid() == 0:
        os.setgroups([])
    foreign = [name for name in names if _namespace(pid, name) != _namespace("self", name)]
    for number in [os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY | os.O_CLOEXEC) for name in foreign]:
        if libc.setns(number, 0):
            sys.exit(f"the container cannot be entered: {os.strerror(ctypes.get_errno())}")


def _become(libc: ctypes.CDLL, rules: bytes) -> None:
    os.setsid()
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
    libc.prctl(_PARENT_DEATH, 9, 0, 0, 0)
    for right in range(64):
        if right not in _KEPT and libc.prctl(_DROP_RIGHT, right, 0, 0, 0):
            break
    libc.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    if rules:
        program = _Program(len(rules) // 8, rules)
        if libc.prctl(_SECCOMP, _FILTER_MODE, ctypes.byref(program), 0, 0):
            os.write(2, b"the filter of system calls cannot be set\n")
            os._exit(_NOT_EXECUTABLE)


def _execute(argv: list[str], env: dict[str, str], cwd: str) -> None:
    try:
        os.chdir(cwd)
    except OSError as error:
        os.write(2, f"{cwd}: {error.strerror}\n".encode())
        os._exit(_NOT_EXECUTABLE)
    try:
        os.execvpe(argv[0], argv, env)  # noqa: S606 -- running the given command is its purpose
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE)


def _namespace(pid: object, name: str) -> str:
    return os.readlink(f"/proc/{pid}/ns/{name}")  # noqa: PTH115 -- pathlib takes as long to import as all the rest


if __name__ == "__main__":
    main()
