"""Test untrusted functions. A separate program, run confined; standard library only.

    python -I -S -c SOURCE < ITEM

ITEM is JSON: `programs` (source texts; the first that compiles is the answer), `setup` (trusted source that runs before
each test), `tests` (objects with `code`, or with `call`, `args`, `kwargs` and `expected`), `names` (functions of the
answer that the tests use, even if the setup defines the same names), `cpu_seconds`, `token`. It first writes `ready`,
then a line of JSON: `token` and `results`, which gives for each test the reason of its failure, or an empty string.

The functions run in a separate process that never sees the tests: it receives calls and returns values as plain data.
So it cannot patch the tests, return objects with a false comparison, choose the exit code, fake output or read expected
values. Both processes run as the same account. The kernel prevents the untrusted one from reading this process or
taking its files, because this one is marked as not dumpable before the other is forked (prctl(2), ptrace(2)). A line of
output counts only with the token, which is read here after the fork.
"""

import ast
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


class AnswerEnded(BaseException):
    """The answer's process ended during a call. A BaseException, so that no test takes it for the function's error."""


class Missing(BaseException):
    """The answer lacks a function. A BaseException for the same reason."""


class Opaque:
    """A value that is not plain data; it is equal to nothing."""


def encode(value: Any) -> Any:
    """Return a value in a form that JSON can hold."""
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
    """Return the value that `encode` was given; a value that was not plain data becomes Opaque."""
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
    """Run the untrusted side: execute the program, then call its functions on request. Never returns."""
    item = json.loads(requests.readline())
    resource.setrlimit(resource.RLIMIT_CPU, (item["cpu_seconds"], item["cpu_seconds"]))
    space: dict[str, Any] = {"__name__": "answer"}
    try:
        exec(first_that_compiles(item["programs"]), space)  # noqa: S102 -- the purpose of this process
        send(replies, {"value": True})
    except BaseException as error:  # noqa: BLE001 -- any exception is the program's failure
        send(replies, error_report(error))
        os._exit(1)
    for line in requests:
        try:
            name, arguments, named = decode(json.loads(line))
            reply = {"value": encode(space[name](*arguments, **named))} if name in space else {"missing": name}
            send(replies, reply)
        except BaseException as error:  # noqa: BLE001 -- any exception is the function's failure
            send(replies, error_report(error))
    os._exit(0)


def error_report(error: BaseException) -> dict[str, str]:
    """Return an exception as a reply."""
    return {"error": type(error).__name__, "message": str(error)[:500]}


def first_that_compiles(programs: list[str]) -> CodeType:
    """Return the code of the first program that compiles. If none does, raise the error of the first."""
    found: Exception = ValueError("no program")
    for place, program in enumerate(programs):
        try:
            return compile(program, "answer.py", "exec")
        except (SyntaxError, ValueError) as error:
            found = found if place else error
    raise found


class AnswerProcess:
    """The answer's process as the tests use it."""

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests = requests
        self._replies = replies

    def start(self, item: dict[str, Any]) -> None:
        """Run the program. Raises the program's exception, or AnswerEnded."""
        send(self._requests, {name: item[name] for name in ("programs", "cpu_seconds")})
        self._reply()

    def call(self, name: str, arguments: Any, named: Any) -> Any:
        """Return the value of a function. Raises the function's exception, Missing, or AnswerEnded."""
        try:
            send(self._requests, encode((name, tuple(arguments), dict(named))))
        except OSError:
            raise AnswerEnded from None
        return self._reply()

    def _reply(self) -> Any:
        line = self._replies.readline(_MOST_REPLY)
        if not line.endswith(b"\n"):
            raise AnswerEnded
        reply = json.loads(line)
        if "missing" in reply:
            raise Missing(f"the program defines no {reply['missing']}")
        if "error" in reply:
            kind = getattr(builtins, str(reply["error"]), None)
            # StopIteration would silently end a loop in the tests.
            said = f"{reply['error']}: {reply.get('message')}"
            if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDINGS):
                raise kind(said)
            raise RuntimeError(said)
        return decode(reply["value"])


class Function:
    """One function of the answer."""

    def __init__(self, answer: AnswerProcess, name: str) -> None:
        self._answer = answer
        self._name = name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the function's value. Raises its exception, Missing, or AnswerEnded."""
        return self._answer.call(self._name, arguments, named)


def results(item: dict[str, Any], answer: AnswerProcess) -> list[str]:
    """Return for each test the reason of its failure, or an empty string."""
    tests, found = item["tests"], []
    try:
        answer.start(item)
    except BaseException as error:  # noqa: BLE001 -- any exception is the program's failure
        return [reason(error)] * len(tests)
    for test in tests:
        try:
            check(item, test, answer)
        except BaseException as error:  # noqa: BLE001 -- any exception is the program's failure
            found.append(reason(error, test.get("code", "")))
        else:
            found.append("")
    return found


def check(item: dict[str, Any], test: dict[str, Any], answer: AnswerProcess) -> None:
    """Run one test. Raises whatever exception the test raises."""
    if "code" in test:
        functions = {name: Function(answer, name) for name in item["names"]}
        space: dict[str, Any] = {"__name__": "tests", **functions}
        exec(compile(item["setup"], "setup.py", "exec"), space)  # noqa: S102 -- the tests are trusted
        # Again, because the setup may define a stub of the same name.
        space |= functions
        exec(compile(test["code"], "test.py", "exec"), space)  # noqa: S102 -- the same
        return
    given = answer.call(test["call"], test["args"], test["kwargs"])
    # JSON turns tuples into lists, so expected values never hold a tuple.
    given = list(given) if isinstance(given, tuple) else given
    assert given == test["expected"], f"{test['call']} gave {given!r:.200}"


def reason(error: BaseException, code: str = "") -> str:
    """Return why a test failed: of an assertion of `code` without a message, what was asserted of."""
    if isinstance(error, AnswerEnded):
        return "the program ended, was ended at a limit, or said too much"
    said, name = str(error)[:300], type(error).__name__
    if isinstance(error, AssertionError) and not said:
        return f"a test fails: {_asserted(error, code)}"
    return said if isinstance(error, Missing) or said.startswith(f"{name}:") else f"{name}: {said}"


def _asserted(error: BaseException, code: str) -> str:
    """Return what the failed assertion is about, without the value that it expects."""
    number, trace = 0, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "test.py":
            number = trace.tb_lineno
        trace = trace.tb_next
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assert) and node.lineno <= number <= (node.end_lineno or node.lineno):
            compared = isinstance(node.test, ast.Compare)
            subject = ast.unparse(node.test.left if isinstance(node.test, ast.Compare) else node.test)[:200]
            return f"{subject} is another value" if compared else f"{subject} does not hold"
    return "an assertion does not hold"


def main() -> None:
    """Check one item."""
    # Read nothing of the item before the fork, or the other process would have a copy.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.write(1, b"ready\n")
    to_child, from_child = os.pipe(), os.pipe()
    if os.fork() == 0:
        be_untrusted(to_child[0], from_child[1])
    os.close(to_child[0])
    os.close(from_child[1])
    item = json.loads(sys.stdin.buffer.read())
    found = results(item, AnswerProcess(os.fdopen(to_child[1], "wb"), os.fdopen(from_child[0], "rb")))
    os.write(1, json.dumps({"token": item["token"], "results": found}).encode() + b"\n")
    os._exit(0)


def be_untrusted(requests: int, replies: int) -> None:
    """Keep only these two descriptors, and answer requests. Never returns."""
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
