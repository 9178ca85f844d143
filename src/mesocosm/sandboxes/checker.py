"""Test untrusted functions. A separate program, run confined; standard library only.

    python -I -S -c SOURCE < ITEM

ITEM is JSON: `programs` (source texts; the first that compiles is the answer), `setup` (trusted source that runs before
each test), `tests` (objects with `code`, or with `call`, `args`, `kwargs` and `expected`), `names` (functions of the
answer that the tests use, even if the setup defines the same names), `command` (of a program that takes the answer's
place with its source in the file `answer`; empty for Python), `cpu_seconds`, `token`. It first writes `ready`,
then a line of JSON: `token` and `results`, which gives for each test the reason of its failure, or an empty string.

The functions run in a separate process that never sees the tests: it receives calls and returns values as plain data.
An object stays there; the tests have a handle, whose attributes, methods and items they ask for. A handle is equal to
no plain data, and contains only what it yields as plain data: what a class says of its own equality counts between two
of its objects only.
So it cannot patch the tests, return objects with a false comparison, choose the exit code, fake output or read expected
values. Both processes run as the same account. The kernel prevents the untrusted one from reading this process or
taking its files, because this one is marked as not dumpable before the other is forked (prctl(2), ptrace(2)). A line of
output counts only with the token, which is read here after the fork.
"""

import ast
import builtins
import ctypes
import itertools
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, BinaryIO

_PR_SET_DUMPABLE = 4
_MOST_REPLY = 8 * 1024 * 1024
_MOST_SHOWN = 80
_MOST_ITEMS = 100_000
_LEFT, _RIGHT = "_mesocosm_left", "_mesocosm_right"
_WANTED: dict[type[ast.cmpop], str] = {
    ast.Eq: "expected",
    ast.Is: "expected",
    ast.NotEq: "expected anything but",
    ast.IsNot: "expected anything but",
    ast.Lt: "expected less than",
    ast.LtE: "expected at most",
    ast.Gt: "expected more than",
    ast.GtE: "expected at least",
    ast.In: "expected one of",
    ast.NotIn: "expected none of",
}
_ENDINGS = (StopIteration, StopAsyncIteration)
_BUNDLES: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}


class AnswerEnded(BaseException):
    """The answer's process ended, or said too much. A BaseException: no test takes it for the function's error."""


class Missing(BaseException):
    """The answer lacks a function. A BaseException for the same reason."""


class ProgramError(RuntimeError):
    """An exception of the answer that is none of Python's own, or that would end the tests."""


class Opaque:
    """A value that is neither plain data nor an object of the answer; it is equal to nothing."""

    def __repr__(self) -> str:
        return NO_DATA


NO_DATA = "a value that is no plain data"


class Handle:
    """An object of the answer, as the tests have it."""

    def __init__(self, answer: "AnswerProcess", number: int) -> None:
        self.__dict__.update(_answer=answer, number=lambda: number)

    def _ask(self, name: str, *arguments: Any) -> Any:
        return self._answer.call(name, arguments, {}, self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._ask("get", name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._ask("set", name, value)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return what the object returns when it is called."""
        return self._answer.call("", arguments, named, self)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Handle):
            return False
        return bool(self.number() == other.number()) or self._ask("__eq__", other) is True

    def __hash__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return self._ask("__bool__") is True

    def __iter__(self) -> Any:
        return iter(self._ask("__iter__"))

    def __contains__(self, item: object) -> bool:
        return item in list(self)

    def __next__(self) -> Any:
        found = self._ask("__next__")
        if not found:
            raise StopIteration
        return found[0]

    def __str__(self) -> str:
        return str(self._ask("__str__"))

    def __repr__(self) -> str:
        return str(self._ask("__repr__"))


def _asked(name: str) -> Any:
    return lambda self, *arguments: self._ask(name, *arguments)


def _compared(name: str) -> Any:
    """Return an order that is defined between two objects only: no object is less than plain data."""
    return lambda self, other: self._ask(name, other) is True if isinstance(other, Handle) else NotImplemented


for _name in (
    "len",
    "getitem",
    "setitem",
    "delitem",
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
):
    setattr(Handle, f"__{_name}__", _asked(f"__{_name}__"))
for _name in ("neg", "abs", "and", "or", "xor", "invert", "float", "int", "enter", "exit"):
    setattr(Handle, f"__{_name}__", _asked(f"__{_name}__"))
for _name in ("lt", "le", "gt", "ge"):
    setattr(Handle, f"__{_name}__", _compared(f"__{_name}__"))


def encode(value: Any, held: list[Any] | None = None) -> Any:
    """Return a value in a form that JSON can hold; an object is kept in `held`, and its number is returned."""
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
        return {"dict": [[encode(key, held), encode(item, held)] for key, item in value.items()]}
    for name, kind in _BUNDLES.items():
        if isinstance(value, kind):
            return {name: [encode(item, held) for item in value]}
    return _kept(value, held)


def _kept(value: Any, held: list[Any] | None) -> Any:
    if isinstance(value, Handle):
        return {"object": value.number()}
    if held is None:
        return {"opaque": 0}
    held.append(value)
    return {"object": len(held) - 1}


def decode(value: Any, objects: "Callable[[int], Any]" = lambda _: Opaque()) -> Any:
    """Return the value that `encode` was given; `objects` gives an object for its number."""
    if value is None or isinstance(value, bool | str | float | int):
        return value
    ((name, content),) = value.items()
    if name == "int":
        return int(content, 16)
    if name == "complex":
        return complex(*content)
    if name == "bytes":
        return bytes.fromhex(content)
    if name == "dict":
        return {decode(key, objects): decode(item, objects) for key, item in content}
    if name == "object":
        return objects(content)
    return _BUNDLES[name](decode(item, objects) for item in content) if name in _BUNDLES else Opaque()


def send(stream: BinaryIO, value: Any) -> None:
    """Write one line of JSON."""
    stream.write(json.dumps(value).encode("utf-8", "surrogatepass") + b"\n")
    stream.flush()


def answer(requests: BinaryIO, replies: BinaryIO) -> None:
    """Run the untrusted side: execute the program, then call its functions on request. Never returns."""
    item = json.loads(requests.readline())
    resource.setrlimit(resource.RLIMIT_CPU, (item["cpu_seconds"], item["cpu_seconds"]))
    if item["command"]:
        with open("answer", "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123 -- the place is ours
            file.write(item["programs"][0])
        os.execv(item["command"][0], item["command"])  # noqa: S606 -- chosen by the grader
    space: dict[str, Any] = {"__name__": "answer"}
    try:
        exec(first_that_compiles(item["programs"]), space)  # noqa: S102 -- the purpose of this process
        send(replies, {"value": True})
    except BaseException as error:  # noqa: BLE001 -- any exception is the program's failure
        send(replies, error_report(error))
        os._exit(1)
    held: list[Any] = []
    for line in requests:
        try:
            name, arguments, named, target = decode(json.loads(line), held.__getitem__)
            if target is None and name not in space:
                send(replies, {"missing": name})
            elif target is None:
                send(replies, {"value": encode(space[name](*arguments, **named), held)})
            else:
                on = space[target] if isinstance(target, str) else target
                send(replies, {"value": encode(asked_of(on, name, arguments, named, space), held)})
        except BaseException as error:  # noqa: BLE001 -- any exception is the function's failure
            send(replies, error_report(error))
    os._exit(0)


def asked_of(target: Any, name: str, arguments: Any, named: Any, space: dict[str, Any]) -> Any:
    """Return what a handle asks of its object. Raises whatever the object raises."""
    if name in _ASKED:
        return _ASKED[name](target, *arguments)
    if name == "is":
        return isinstance(target, space[arguments[0]])
    value = getattr(target, name)(*arguments) if name else target(*arguments, **named)
    if value is NotImplemented:
        raise TypeError(f"{type(target).__name__} has no {name} for {type(arguments[0]).__name__}")
    return value


_ASKED: dict[str, Callable[..., Any]] = {
    "get": getattr,
    "set": setattr,
    "__iter__": lambda target: list(itertools.islice(target, _MOST_ITEMS)),
    "__next__": lambda target: list(itertools.islice(target, 1)),
    "__eq__": lambda target, other: bool(target == other),
    "__bool__": bool,
    "__str__": str,
    "__repr__": repr,
}


def error_report(error: BaseException) -> dict[str, str]:
    """Return an exception as a reply; of source that does not compile its line, as the program has other numbers."""
    said = str(error)
    if isinstance(error, SyntaxError) and error.text and error.text.strip():
        said = f"{error.msg} in `{error.text.strip()[:80]}`"
    return {"error": type(error).__name__, "message": said[:500]}


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

    def __init__(self, requests: BinaryIO, replies: BinaryIO, process: int) -> None:
        self._requests = requests
        self._replies = replies
        self._process = process
        self._cpu_seconds = 0

    def start(self, item: dict[str, Any]) -> None:
        """Run the program. Raises the program's exception, or AnswerEnded."""
        self._cpu_seconds = item["cpu_seconds"]
        send(self._requests, {name: item[name] for name in ("programs", "command", "cpu_seconds")})
        self._reply()

    def call(self, name: str, arguments: Any, named: Any, target: "Handle | str | None" = None) -> Any:
        """Return the value of a function, or what `name` of a target is, an object or the name of a class.

        Raises the function's exception, Missing, or AnswerEnded.
        """
        try:
            send(self._requests, encode((name, tuple(arguments), dict(named), target)))
        except OSError:
            raise AnswerEnded(self._end()) from None
        return self._reply()

    def _end(self) -> str:
        """Return how the answer's process ended."""
        try:
            _process, status, used = os.wait4(self._process, 0)
        except ChildProcessError:
            return "the program had ended before"
        code, seconds = os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime
        if code >= 0:
            return f"the program ended itself, with exit code {code}"
        # Where the kernel counts time coarsely, less was measured than it has counted.
        if -code in {signal.SIGKILL, signal.SIGXCPU} and seconds > self._cpu_seconds / 2:
            return f"the program used up its {self._cpu_seconds} s of processor time"
        return f"the program was ended by signal {-code} after {seconds:.1f} s of processor time"

    def _reply(self) -> Any:
        line = self._replies.readline(_MOST_REPLY)
        if not line.endswith(b"\n"):
            large = len(line) >= _MOST_REPLY
            raise AnswerEnded(f"a value is larger than {_MOST_REPLY >> 20} MiB" if large else self._end())
        reply = json.loads(line)
        if "missing" in reply:
            raise Missing(f"the program defines no {reply['missing']}")
        if "error" in reply:
            kind = getattr(builtins, str(reply["error"]), None)
            # StopIteration would silently end a loop in the tests.
            said = f"{reply['error']}: {reply.get('message')}".removesuffix(": ")
            if isinstance(kind, type) and issubclass(kind, Exception) and not issubclass(kind, _ENDINGS):
                raise kind(said)
            raise ProgramError(said)
        return decode(reply["value"], lambda number: Handle(self, number))


class Function:
    """One function of the answer."""

    def __init__(self, answer: AnswerProcess, name: str) -> None:
        self._answer = answer
        self._name = name

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return the function's value. Raises its exception, Missing, or AnswerEnded."""
        return self._answer.call(self._name, arguments, named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._answer.call("get", (name,), {}, self._name)

    def __instancecheck__(self, value: object) -> bool:
        return isinstance(value, Handle) and self._answer.call("is", (self._name,), {}, value) is True


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
        exec(compile(observed(test["code"]), "test.py", "exec"), space)  # noqa: S102 -- the same
        return
    given = answer.call(test["call"], test["args"], test["kwargs"])
    if "steps" in test:
        for (name, *arguments), expected in zip(test["steps"], test["expected"], strict=True):
            value = answer.call(name, arguments, {}, given) if item["command"] else getattr(given, name)(*arguments)
            value = list(value) if isinstance(value, tuple) else value
            assert value == expected, f"{name} gave {_shown(value)}, expected {_shown(expected)}"
        return
    # JSON turns tuples into lists, so expected values never hold a tuple.
    given = list(given) if isinstance(given, tuple) else given
    assert given == test["expected"], f"{test['call']} gave {_shown(given)}, expected {_shown(test['expected'])}"


class ComparedSides(ast.NodeTransformer):
    """Keeps both sides of what an assertion without a message compares, as local variables."""

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        """Name the two sides, if there are two."""
        if node.msg is None and isinstance(node.test, ast.Compare) and len(node.test.ops) == 1:
            compared = node.test
            (right,) = compared.comparators
            compared.left = ast.NamedExpr(ast.Name(_LEFT, ast.Store()), compared.left)
            compared.comparators = [ast.NamedExpr(ast.Name(_RIGHT, ast.Store()), right)]
        return node


def observed(code: str) -> ast.Module:
    """Return a test whose assertions keep what they compare."""
    test = ast.parse(code)
    ComparedSides().visit(test)
    return ast.fix_missing_locations(test)


def reason(error: BaseException, code: str = "") -> str:
    """Return why a test failed: of an assertion of `code` without a message, what was asserted of what."""
    said, name = str(error)[:300], type(error).__name__
    if isinstance(error, AnswerEnded):
        return said
    if isinstance(error, AssertionError) and not said:
        return f"a test fails: {_asserted(error, code)}"
    if isinstance(error, Missing | ProgramError) or said == name or said.startswith(f"{name}:"):
        return said
    return f"{name}: {said}" if said else name


def _asserted(error: BaseException, code: str) -> str:
    """Return what the failed assertion is about, what it is, and what it should be."""
    number, known, trace = 0, {}, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "test.py":
            number, known = trace.tb_lineno, dict(trace.tb_frame.f_locals)
        trace = trace.tb_next
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Assert) and node.lineno <= number <= (node.end_lineno or node.lineno):
            if not isinstance(node.test, ast.Compare):
                return f"{ast.unparse(node.test)[:200]} does not hold"
            subject = ast.unparse(node.test.left)[:200]
            if len(node.test.ops) != 1 or _LEFT not in known or _RIGHT not in known:
                return f"{subject} is another value"
            wanted = _WANTED.get(type(node.test.ops[0]), "which does not fit")
            return f"{subject} is {_shown(known[_LEFT])}, {wanted} {_shown(known[_RIGHT])}"
    return "an assertion does not hold"


def _shown(value: Any) -> str:
    try:
        text = NO_DATA if isinstance(value, Handle) else repr(value)
    except BaseException:  # noqa: BLE001 -- a list may hold an object, and what it says of itself may fail
        text = NO_DATA
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def main() -> None:
    """Check one item."""
    # Read nothing of the item before the fork, or the other process would have a copy.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.write(1, b"ready\n")
    to_child, from_child = os.pipe(), os.pipe()
    process = os.fork()
    if process == 0:
        be_untrusted(to_child[0], from_child[1])
    os.close(to_child[0])
    os.close(from_child[1])
    item = json.loads(sys.stdin.buffer.read())
    found = results(item, AnswerProcess(os.fdopen(to_child[1], "wb"), os.fdopen(from_child[0], "rb"), process))
    os.write(1, json.dumps({"token": item["token"], "results": found}).encode() + b"\n")
    os._exit(0)


def be_untrusted(requests: int, replies: int) -> None:
    """Keep only these two descriptors, and answer requests. Never returns."""
    requests, replies = be_apart(requests, replies)
    answer(os.fdopen(requests, "rb"), os.fdopen(replies, "wb"))
    os._exit(0)


def be_apart(requests: int, replies: int) -> tuple[int, int]:
    """Close all descriptors but these two, and return what they are now."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    os.dup2(requests, 30)
    os.dup2(replies, 31)
    os.closerange(3, 30)
    os.closerange(32, 1024)
    return 30, 31


if __name__ == "__main__":
    main()
