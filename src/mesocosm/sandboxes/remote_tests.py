"""Run the tests of a repository apart from its code. A separate program, run confined; standard library only.

    python -I -S -c SOURCE < ITEM

ITEM is JSON: `token`, `folder` (the repository), `roots` (folders from which its code is imported), `packages` (folders
of installed packages), `code` (names of its top-level modules), `modules` (dotted name of each module of the tests,
with its source), `tests` (names of the tests to run), `cpu_seconds`. The output is as that of `checker`: `ready`, then
the `token` with `results`, which gives for each test the reason of its failure, or an empty string.

The tests run here, with Python's own unittest, from the sources in ITEM. The repository's code runs in a process that
was forked before ITEM was read: it never sees the tests. A module of the repository is imported there; here stands a
stand-in, whose attributes and calls go to the other process. So nothing that the repository holds (files named as
modules of the library, startup files, patches of unittest, an early exit) touches the tests.

What goes across are plain data, by value; lists, dicts and sets are kept equal on both sides, so that changes are seen.
Anything else stays where it is, and only a reference goes across. What a reference stands for is the code's own: if it
were asked whether it is equal to something, code could always say yes. A test that asks so fails, as does one that
asks a reference what only text, numbers and bundles are asked (`startswith`). Callers must check with code that is
right whether tests can be run like this.
"""

import builtins
import ctypes
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import itertools
import json
import os
import re
import resource
import sys
import types
import unittest
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from mesocosm.sandboxes.checker import AnswerEnded, ProgramError, be_apart, decode, encode, reason, send

_PR_SET_DUMPABLE = 4
_MOST_LINE = 8 * 1024 * 1024
_MOST_SHARED = 20_000
_MOST_ITEMS = 1_000_000
_PLAIN = (bool, str, float, int, complex, bytes, bytearray)
_TYPES: dict[str, Any] = {kind.__name__: kind for kind in (object, *_PLAIN[:-1], list, tuple, dict, set, frozenset)}
_ERRORS = {
    name: kind
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, Exception | SystemExit)
}
_ENDINGS = (StopIteration, StopAsyncIteration)
_SHARED: dict[str, type] = {"list": list, "dict": dict, "set": set}
_PREDICATES = frozenset(
    name
    for kind in (str, bytes, list, tuple, dict, set, float, int)
    for name in dir(kind)
    if name.startswith("is") or name in {"startswith", "endswith"}
)
_MOST_BRANCHES = 2


class Undecided(BaseException):
    """A test asks code for a verdict on itself. A BaseException: no test takes it for the code's error."""


class CodeObject:
    """An object of the other process."""

    def __init__(self, border: "Border", number: int) -> None:
        object.__setattr__(self, "_border", border)
        object.__setattr__(self, "_number", number)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._border.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._border.ask("set", self, name, value)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Return what the object returns when it is called. Raises its exception."""
        return self._border.ask("call", self, arguments, named)

    def __eq__(self, other: object) -> bool:
        return self is other or self._border.differ()

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        return self._border.ask("truth", self) is True if self._border.tests else True

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, CodeObject) and self._border.ask("isinstance", instance, self) is True

    def __iter__(self) -> Iterator[Any]:
        iterator = self._border.ask("iterate", self)
        for _ in range(_MOST_ITEMS):
            more, item = self._border.ask("next", iterator)
            if more is not True:
                return
            yield item
        raise Undecided(f"more than {_MOST_ITEMS} items")

    def __next__(self) -> Any:
        more, item = self._border.ask("next", self)
        if more is not True:
            raise StopIteration
        return item

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._border.ask("special", self, "__exit__", (None, None, None))


def _delegated(name: str) -> Callable[..., Any]:
    def method(self: CodeObject, *arguments: Any) -> Any:
        if not self._border.tests:
            return "an object of the tests" if name in {"__str__", "__repr__"} else NotImplemented
        return self._border.ask("special", self, name, arguments)

    return method


for _name in ("len", "getitem", "setitem", "delitem", "enter", "str", "repr"):
    setattr(CodeObject, f"__{_name}__", _delegated(f"__{_name}__"))


class Border:
    """One side of the border between the tests and the code. `tests` says which side this is."""

    def __init__(self, incoming: BinaryIO, outgoing: BinaryIO, *, tests: bool) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self.tests = tests
        self._numbers = itertools.count(int(tests), 2)
        self._own: dict[int, Any] = {}
        self._known: dict[int, Any] = {}
        self._shared: dict[int, Any] = {}
        self._number_of: dict[int, int] = {}
        self._states: dict[int, str] = {}

    def _encoded(self, value: Any) -> Any:
        if isinstance(value, (*_PLAIN, type(None))):
            return encode(value)
        if isinstance(value, slice):
            return {"slice": [self._encoded(part) for part in (value.start, value.stop, value.step)]}
        if isinstance(value, tuple | frozenset):
            kind = "tuple" if isinstance(value, tuple) else "frozenset"
            return {kind: [self._encoded(item) for item in value]}
        if isinstance(value, CodeObject):
            return {"yours": value._number}  # noqa: SLF001 -- both belong together
        name = value.__name__ if isinstance(value, type) else ""
        if name and {**_TYPES, **_ERRORS}.get(name) is value:
            return {"type": name}
        if type(value).__module__ in {"builtins", "collections"} and isinstance(value, list | dict | set):
            return {"shared": self._number(value, self._shared)}
        if isinstance(value, type) and "_yours" in value.__dict__:
            return {"yours": value.__dict__["_yours"]}
        error = isinstance(value, type) and issubclass(value, Exception)
        bases = [self._encoded(base) for base in value.__bases__] if error else []
        return {"mine": [self._number(value, self._own), value.__name__ if error else "", bases]}

    def _number(self, value: Any, known: dict[int, Any]) -> int:
        number = self._number_of.get(id(value))
        if number is None:
            number = self._number_of[id(value)] = next(self._numbers)
            known[number] = value
            if len(self._shared) > _MOST_SHARED:
                raise Undecided(f"more than {_MOST_SHARED} lists and dicts go between tests and code")
        return number

    def _decoded(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str | float):
            return value
        ((name, content),) = value.items()
        match name:
            case "int" | "complex" | "bytes":
                return decode(value)
            case "slice":
                return slice(*map(self._decoded, content))
            case "tuple" | "frozenset":
                return _TYPES[name](map(self._decoded, content))
            case "type":
                return _TYPES.get(content) or _ERRORS[content]
            case "shared":
                return self._shared[content]
            case "yours":
                return self._own[content]
            case "mine":
                return self._reference(*content)
        raise ValueError(name)

    def _reference(self, number: int, error: str, bases: Sequence[Any]) -> Any:
        if number not in self._known:
            above = [self._decoded(base) for base in bases] if error else []
            self._known[number] = _exception(error, above, number) if error else CodeObject(self, number)
        return self._known[number]

    def _content(self, value: Any) -> list[Any]:
        if isinstance(value, dict):
            return ["dict", [[self._encoded(key), self._encoded(item)] for key, item in value.items()]]
        if isinstance(value, set):
            return ["set", sorted((self._encoded(item) for item in value), key=json.dumps)]
        return ["list", [self._encoded(item) for item in value]]

    def _changes(self) -> dict[str, Any]:
        """Return the content of each shared bundle that the other side does not know."""
        changed: dict[str, Any] = {}
        seen = 0
        while seen < len(self._shared):
            for number in list(itertools.islice(self._shared, seen, None)):
                content = self._content(self._shared[number])
                state = json.dumps(content)
                if self._states.get(number) != state:
                    changed[str(number)], self._states[number] = content, state
                seen += 1
        return changed

    def _take(self, changed: dict[str, Any]) -> None:
        for name, (kind, _content) in changed.items():
            if int(name) not in self._shared:
                made = self._shared[int(name)] = _SHARED[kind]()
                self._number_of[id(made)] = int(name)
        for name, (kind, content) in changed.items():
            held = self._shared[int(name)]
            if not isinstance(held, _SHARED[kind]):
                raise TypeError(f"a {type(held).__name__} has become a {kind}")
            bundle: Any = held
            if kind == "dict":
                items: Any = {self._decoded(key): self._decoded(item) for key, item in content}
            else:
                items = _SHARED[kind](map(self._decoded, content))
            bundle.clear()
            bundle.extend(items) if kind == "list" else bundle.update(items)
            self._states[int(name)] = json.dumps(self._content(bundle))

    def ask(self, what: str, *about: Any) -> Any:
        """Return what the other side answers. Raises its exception, AnswerEnded, or Undecided."""
        self._send({"ask": what, "value": self._encoded(about)})
        while True:
            said = self._receive()
            if "ask" in said:
                self._serve(said)
            elif "error" in said:
                raise self._raised(said["error"])
            else:
                return said["value"]

    def get(self, holder: Any, name: str) -> Any:
        """Return an attribute of an object of the code. Raises AttributeError for an object of the tests."""
        if not self.tests:
            raise AttributeError(f"{name!r}, of an object of the tests")
        if name in _PREDICATES:
            raise Undecided(f"a value that is no plain data is asked for {name}")
        return self.ask("get", holder, name)

    def differ(self) -> bool:
        """Return False for two references that are not the same. Raises Undecided on the side of the tests."""
        if self.tests:
            raise Undecided("a value that is no plain data is compared")
        return False

    def serve(self) -> None:
        """Answer until the other side has gone."""
        while True:
            self._serve(self._receive())

    def _send(self, said: dict[str, Any]) -> None:
        try:
            said["shared"] = self._changes()
            self._outgoing.write(json.dumps(said).encode("utf-8", "surrogatepass") + b"\n")
            self._outgoing.flush()
        except OSError:
            raise AnswerEnded("the code's process has ended") from None

    def _receive(self) -> dict[str, Any]:
        line = self._incoming.readline(_MOST_LINE)
        if not line.endswith(b"\n"):
            raise AnswerEnded("a value is too large" if len(line) >= _MOST_LINE else "the code's process has ended")
        try:
            said: dict[str, Any] = json.loads(line)
            self._take(said["shared"])
            if "value" in said:
                said["value"] = self._decoded(said["value"])
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
            raise AnswerEnded(f"the code's process does not keep to the protocol: {error}") from None
        return said

    def _serve(self, said: dict[str, Any]) -> None:
        try:
            reply = {"value": self._encoded(self._done(said["ask"], *said["value"]))}
        except AnswerEnded:
            raise
        except BaseException as error:  # noqa: BLE001 -- any exception goes to the other side
            reply = {"error": self._told(error)}
        self._send(reply)

    def _done(self, what: str, subject: Any, *about: Any) -> Any:
        if self.tests and (what != "call" or not any(subject is own for own in self._own.values())):
            raise PermissionError("code may only call what tests have given to it")
        return _OPERATIONS[what](subject, *about)

    def _told(self, error: BaseException) -> dict[str, Any]:
        plain = all(part is None or isinstance(part, bool | str | int | float) for part in error.args)
        known = isinstance(error, Exception | SystemExit)
        return {
            "kind": self._encoded(type(error)) if known else None,
            "name": type(error).__name__,
            "said": str(error)[:2000],
            "arguments": [self._encoded(part) for part in error.args] if plain else None,
            "itself": self._encoded(error),
        }

    def _raised(self, told: dict[str, Any]) -> BaseException:
        try:
            kind = self._decoded(told["kind"])
            said, arguments = str(told["said"]), told["arguments"]
            if isinstance(kind, type) and issubclass(kind, Exception | SystemExit) and not issubclass(kind, _ENDINGS):
                given = [said] if arguments is None else [self._decoded(part) for part in arguments]
                try:
                    error = kind(*given)
                except TypeError:
                    return ProgramError(f"{told['name']}: {said}")
                if hasattr(kind, "_yours"):
                    error.__dict__.update(_said=said, _itself=self._decoded(told["itself"]))
                return error
            return ProgramError(f"{told['name']}: {said}")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return AnswerEnded(f"the code's process does not keep to the protocol: {error}")


class _Iterating:
    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator

    def __next__(self) -> Any:
        return next(self._iterator)


def _special(subject: Any, name: str, arguments: Sequence[Any]) -> Any:
    method = getattr(subject, name, None)
    if method is None:
        # Python takes a method that is not there for a TypeError.
        raise TypeError(f"{type(subject).__name__} has no {name}")
    return method(*arguments)


def _next(iterator: Any) -> tuple[bool, Any]:
    try:
        return True, next(iterator)
    except StopIteration:
        return False, None


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "import": importlib.import_module,
    "get": getattr,
    "set": setattr,
    "call": lambda function, arguments, named: function(*arguments, **named),
    "special": _special,
    "truth": bool,
    "isinstance": isinstance,
    "iterate": lambda subject: _Iterating(iter(subject)),
    "next": _next,
}


def _exception(name: str, bases: Sequence[Any], number: int) -> type[Exception]:
    """Return a class for an exception class of the code.

    A class that is almost every exception of Python at once would pass every test of errors, so it is only Exception.
    """
    above = [base for base in bases if isinstance(base, type) and issubclass(base, Exception)]
    kinds = {kind for base in above for kind in base.__mro__ if kind.__name__ in _ERRORS and kind is not Exception}
    ends = [kind for kind in kinds if not any(kind is not other and issubclass(other, kind) for other in kinds)]
    space: dict[str, Any] = {
        "_yours": number,
        "__init__": lambda self, *given, **_named: setattr(self, "args", given),
        "__str__": lambda self: self.__dict__.get("_said", ", ".join(map(str, self.args))),
        "__getattr__": _attribute,
    }
    try:
        return type(name, tuple(above) if above and len(ends) <= _MOST_BRANCHES else (Exception,), space)
    except TypeError:
        return type(name, (Exception,), space)


def _attribute(error: Any, name: str) -> Any:
    if name.startswith("_") or "_itself" not in error.__dict__:
        raise AttributeError(name)
    return getattr(error.__dict__["_itself"], name)


class StandInModule(types.ModuleType):
    """A module of the code, as the tests import it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in {"__all__", "__version__"}:
            raise AttributeError(name)
        module = self.__dict__["_module"]
        return module._border.ask("get", module, name)  # noqa: SLF001 -- both belong together

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__") and not isinstance(value, types.ModuleType):
            raise Undecided(f"a test sets {name} in a module of the code")
        super().__setattr__(name, value)


class TestsAndCodeFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules of the tests in the item, and modules of the code in the other process."""

    def __init__(self, item: dict[str, Any], border: Border) -> None:
        self._sources: dict[str, str] = item["modules"]
        self._code = set(item["code"]) - sys.stdlib_module_names
        self._border = border
        above = {name.rpartition(".")[0] for name in self._sources}
        self._folders = {".".join(name.split(".")[:end]) for name in above for end in range(1, name.count(".") + 2)}

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """Return how to load a module, or None for one that is neither."""
        del path, target
        top = fullname.partition(".")[0]
        package = f"{fullname}.__init__" in self._sources
        if fullname in self._sources or package or (fullname in self._folders and not self._is_code(fullname)):
            return importlib.util.spec_from_loader(fullname, self, is_package=fullname not in self._sources)
        return importlib.util.spec_from_loader(fullname, self, is_package=True) if top in self._code else None

    def _is_code(self, name: str) -> bool:
        """Return whether a folder above modules of the tests is a package of the code, which has other modules too."""
        return name.partition(".")[0] in self._code

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return an empty module, or a stand-in."""
        return types.ModuleType(spec.name) if self._of_tests(spec.name) else StandInModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Execute a module of the tests here, or import one of the code there."""
        name = module.__name__
        if self._of_tests(name):
            source = self._sources.get(name, self._sources.get(f"{name}.__init__", ""))
            place = f"{Path.cwd().joinpath(*name.split('.'))}.py"
            module.__dict__["__file__"] = place
            exec(compile(source, place, "exec"), module.__dict__)  # noqa: S102 -- the tests are trusted
        else:
            module.__dict__["_module"] = self._border.ask("import", name)

    def _of_tests(self, name: str) -> bool:
        known = name in self._sources or f"{name}.__init__" in self._sources
        return known or (name in self._folders and not self._is_code(name))


def run(name: str, modules: Sequence[str]) -> str:
    """Return why a test failed, or an empty string."""
    try:
        suite = unittest.TestSuite([_case(name, modules)])
        result = unittest.TestResult()
        suite.run(result)
    except BaseException as error:  # noqa: BLE001 -- any exception is a failure
        return reason(error)
    if result.errors or result.failures:
        return _said([*result.errors, *result.failures][0][1])
    if result.skipped or result.expectedFailures or result.unexpectedSuccesses:
        return "it was skipped, or expected to fail"
    return "" if result.testsRun == 1 else "it did not run"


def _said(trace: str) -> str:
    """Return the line of a trace that says what failed: the last one that begins at the margin."""
    lines = [line for line in trace.splitlines() if re.match(r"[\w.]+(Error|Exception|Undecided|Ended)?: ", line)]
    return (lines or trace.strip().splitlines() or ["it failed"])[-1][:300]


def _case(name: str, modules: Sequence[str]) -> unittest.TestCase:
    module, rest = _place(name, modules)
    found: Any = importlib.import_module(module)
    *holders, method = rest
    for holder in holders:
        found = getattr(found, holder)
    if isinstance(found, type) and issubclass(found, unittest.TestCase):
        case: unittest.TestCase = found(method)
        return case
    found = found() if isinstance(found, type) else found
    return unittest.FunctionTestCase(getattr(found, method))


def _place(name: str, modules: Sequence[str]) -> tuple[str, list[str]]:
    """Return the module and the inner names of a test, which is named as unittest or pytest names it."""
    spoken = re.fullmatch(r"(\w+) \(([\w.]+)\)", name)
    if spoken is not None:
        name = spoken[2] if spoken[2].endswith(f".{spoken[1]}") else f"{spoken[2]}.{spoken[1]}"
    parts = re.split(r"::|\.py::|[./]", name.replace(".py::", "::"))
    for start in range(len(parts)):
        for end in range(len(parts) - 1, start, -1):
            if ".".join(parts[start:end]) in modules:
                return ".".join(parts[start:end]), parts[end:]
    raise LookupError(f"no file of the tests holds {name}")


def serve_code(requests: int, replies: int) -> None:
    """Run the side of the code. Never returns."""
    incoming = os.fdopen(requests, "rb")
    item = json.loads(incoming.readline())
    resource.setrlimit(resource.RLIMIT_CPU, (item["cpu_seconds"], item["cpu_seconds"]))
    os.chdir(item["folder"])
    sys.path[:0] = item["roots"]
    sys.path.extend(item["packages"])
    try:
        Border(incoming, os.fdopen(replies, "wb"), tests=False).serve()
    finally:
        os._exit(0)


def main() -> None:
    """Run the tests of one item."""
    # Read nothing of the item before the fork, or the other process would have a copy.
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    os.write(1, b"ready\n")
    to_child, from_child = os.pipe(), os.pipe()
    if os.fork() == 0:
        serve_code(*be_apart(to_child[0], from_child[1]))
    os.close(to_child[0])
    os.close(from_child[1])
    item = json.loads(sys.stdin.buffer.read())
    os.chdir(item["folder"])
    outgoing = os.fdopen(to_child[1], "wb")
    send(outgoing, {name: item[name] for name in ("cpu_seconds", "folder", "roots", "packages")})
    border = Border(os.fdopen(from_child[0], "rb"), outgoing, tests=True)
    sys.path.extend(item["packages"])
    sys.meta_path.insert(0, TestsAndCodeFinder(item, border))
    found = [run(name, list(item["modules"])) for name in item["tests"]]
    os.write(1, json.dumps({"token": item["token"], "results": found}).encode() + b"\n")
    os._exit(0)


if __name__ == "__main__":
    main()
