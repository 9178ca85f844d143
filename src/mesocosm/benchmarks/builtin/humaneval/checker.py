"""Tests one function that nobody trusts. A program of its own, run confined; standard library only.

    python -I -S -c SOURCE < ITEM

ITEM is JSON: `programs` (texts of which the first that compiles is run), `trusted` (text that the tests may use),
`test`, `entry_point`, `cpu_seconds`, `token`. First it says `ready`, then a line of JSON: `token`, `passed`, `reason`.

The function lives in a process of its own, which never sees the tests: it is asked for values as plain data, and its
values come back as plain data. So it has nothing to patch, no object whose comparison lies, no exit code to choose,
no output to fake, no expected value to read. It runs as the same account; the kernel keeps it from looking into this
process or taking its files, for this one is marked as not dumpable before the other exists (prctl(2), ptrace(2)).
Whatever else leads to our output, a line counts only with the token, which is read here after the other was split off.
"""

import builtins
import ctypes
import json
import os
import resource
import sys
from types import CodeType
from typing import Any, BinaryIO

_PR_SET_DUMPABLE = 4
_MOST_REPLY = 8 * 1024 * 1024
_ENDINGS = (StopIteration, StopAsyncIteration)
_BUNDLES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class Gone(Exception):
    """The function's process ended in the middle of it."""


class Opaque:
    """A value that is no plain data; equal to nothing."""


def encode(value: Any) -> Any:
    """Return plain data as JSON can hold it."""
    if value is None or isinstance(value, bool):
        return value
    for exact in (str, float):
        if isinstance(value, exact):
            return exact(value)
    if isinstance(value, int):
        return {"int": hex(value)}
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, bytes | bytearray):
        return {"bytes": value.hex()}
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    for name, kind in _BUNDLES.items():
        if isinstance(value, kind):
            return {name: [encode(item) for item in value]}
    return {"opaque": 0}


def decode(value: Any) -> Any:
    """Return what `encode` was given; anything strange becomes opaque."""
    if value is None or isinstance(value, bool | str | float):
        return value
    ((name, content),) = value.items()
    if name == "int":
        return int(content, 16)
    if name == "complex":
        return complex(*content)
    if name == "bytes":
        return bytes.fromhex(content)
    if name == "dict":
        return {decode(key): decode(item) for key, item in content}
    return _BUNDLES[name](decode(item) for item in content) if name in _BUNDLES else Opaque()


def send(stream: BinaryIO, value: Any) -> None:
    """Write one line of JSON."""
    stream.write(json.dumps(value).encode("utf-8", "surrogatepass") + b"\n")
    stream.flush()


def answer(requests: BinaryIO, replies: BinaryIO) -> None:
    """Be the untrusted side: run the program, then call its function for each request. Never returns."""
    item = json.loads(requests.readline())
    resource.setrlimit(resource.RLIMIT_CPU, (item["cpu_seconds"], item["cpu_seconds"]))
    space: dict[str, Any] = {"__name__": "answer"}
    try:
        exec(first_that_compiles(item["programs"]), space)  # noqa: S102 -- what this is for
        function = space[item["entry_point"]]
        send(replies, {"value": True})
    except BaseException as error:  # noqa: BLE001 -- whatever it raises is its failure
        send(replies, told(error))
        os._exit(1)
    for line in requests:
        try:
            arguments, named = decode(json.loads(line))
            send(replies, {"value": encode(function(*arguments, **named))})
        except BaseException as error:  # noqa: BLE001 -- whatever it raises is its failure
            send(replies, told(error))
    os._exit(0)


def told(error: BaseException) -> dict[str, str]:
    """Return an exception as a reply."""
    return {"error": type(error).__name__, "message": str(error)[:500]}


def first_that_compiles(programs: list[str]) -> CodeType:
    """Return the code of the first program without a syntax error; raises that of the first where all have one."""
    found: Exception = ValueError("no program")
    for place, program in enumerate(programs):
        try:
            return compile(program, "answer.py", "exec")
        except (SyntaxError, ValueError) as error:
            found = found if place else error
    raise found


class Candidate:
    """The function as the tests call it."""

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests = requests
        self._replies = replies

    def start(self, item: dict[str, Any]) -> None:
        """Let the program run. Raises what it raised, or Gone."""
        send(self._requests, item)
        self._reply()

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the function's value. Raises what it raised, or Gone."""
        try:
            send(self._requests, encode((arguments, named)))
        except OSError:
            raise Gone from None
        return self._reply()

    def _reply(self) -> Any:
        line = self._replies.readline(_MOST_REPLY)
        if not line.endswith(b"\n"):
            raise Gone
        reply = json.loads(line)
        if "error" in reply:
            kind = getattr(builtins, str(reply["error"]), None)
            # One that ends loops would cut short what the tests go through.
            said = f"{reply['error']}: {reply.get('message')}"
            if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDINGS):
                raise kind(said)
            raise RuntimeError(said)
        return decode(reply["value"])


def check(item: dict[str, Any], candidate: Candidate) -> None:
    """Run the tests. Raises what they raise."""
    told = ("programs", "entry_point", "cpu_seconds")
    candidate.start({name: item[name] for name in told})
    space: dict[str, Any] = {"__name__": "tests"}
    exec(compile(item["trusted"], "prompt.py", "exec"), space)  # noqa: S102 -- the same
    space[item["entry_point"]] = candidate
    exec(compile(item["test"], "test.py", "exec"), space)  # noqa: S102 -- the same
    space["check"](candidate)


def verdict(item: dict[str, Any], candidate: Candidate) -> dict[str, Any]:
    """Return whether the tests passed, and why not."""
    try:
        check(item, candidate)
    except Gone:
        return {"passed": False, "reason": "the program ended, was ended at a limit, or said too much"}
    except BaseException as error:  # noqa: BLE001 -- whatever it raises is its failure
        return {"passed": False, "reason": f"{type(error).__name__}: {str(error)[:500]}"}
    return {"passed": True, "reason": ""}


def main() -> None:
    """Check one item."""
    # Nothing of the item is read before the other process exists: it would have a copy.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.write(1, b"ready\n")
    to_child, from_child = os.pipe(), os.pipe()
    if os.fork() == 0:
        be_untrusted(to_child[0], from_child[1])
    os.close(to_child[0])
    os.close(from_child[1])
    item = json.loads(sys.stdin.buffer.read())
    outcome = verdict(item, Candidate(os.fdopen(to_child[1], "wb"), os.fdopen(from_child[0], "rb")))
    os.write(1, json.dumps({"token": item["token"], **outcome}).encode() + b"\n")
    os._exit(0)


def be_untrusted(requests: int, replies: int) -> None:
    """Keep these two files and no other, and answer. Never returns."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.dup2(requests, 30)
    os.dup2(replies, 31)
    os.closerange(3, 30)
    os.closerange(32, 1024)
    answer(os.fdopen(30, "rb"), os.fdopen(31, "wb"))
    os._exit(0)


if __name__ == "__main__":
    main()
